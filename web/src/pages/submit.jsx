// submit.jsx - a job, and the quote for it as one types
import { useEffect, useState } from "preact/hooks";
import { post } from "../api.js";
import { digits, duration, energy, interval, isNumber, percent, rate, time, watts } from "../format.js";
import { live, now, simulated, useLive } from "../live.js";
import { go } from "../route.js";
import { Simulated, Trouble, useTitle } from "../ui.jsx";

const blank = {
    name: "", kind: "training", family: "", model: "unknown", batch: "", gmac: "", params: "",
    need: "rate", rate: "", latency: "", within: "", confidence: "", steps: "", gpus: "1", memory: "",
    types: [], share: true, move: true, accept: false, command: "",
};
const models = ["unknown", "conv", "attention", "rnn", "embedding", "gan", "rl", "diffusion", "other"];

const number = (text) => (text.trim() === "" ? undefined : Number(text));

// Words of a command line: blanks part them, quotes keep them together.
export function words(line) {
    return (line.match(/'[^']*'|"[^"]*"|[^\s'"]+/g) ?? []).map((w) => (/^['"]/.test(w) ? w.slice(1, -1) : w));
}

const given = (object) => Object.fromEntries(Object.entries(object).filter(([, v]) => v !== undefined && v !== "" && !Number.isNaN(v)));

function requestOf(f) {
    const service = f.kind === "inference";
    const need = given({
        kind: service ? "service" : f.need,
        rate: service || f.need === "rate" ? number(f.rate) : undefined,
        latency_s: service && f.latency ? number(f.latency) / 1000 : undefined,
        within_s: !service && f.need === "deadline" && f.within ? number(f.within) * 3600 : undefined,
        confidence: number(f.confidence),
    });
    return given({
        name: f.name || undefined,
        kind: f.kind,
        descriptor: given({ family: f.family, model: f.model, batch: number(f.batch), gmac_per_sample: number(f.gmac), params_millions: number(f.params) }),
        need,
        total_steps: service ? undefined : number(f.steps),
        gpus: number(f.gpus),
        memory_gb: number(f.memory),
        types: f.types.length ? f.types : undefined,
        share: f.share,
        move: f.move,
        on_counter: f.accept ? "accept" : undefined,
        command: words(f.command).length ? words(f.command) : undefined,
    });
}

// What is missing before it makes sense to ask.
function missing(f) {
    if ((f.kind === "inference" || f.need === "rate") && !(number(f.rate) > 0)) return "Say which rate the job needs, or choose best effort.";
    if (f.kind === "training" && f.need === "deadline" && !(number(f.within) > 0 && number(f.steps) > 0)) return "A deadline needs the hours and the steps.";
    return null;
}

const verdicts = {
    accepted: ["Promised, and it can start now", "good"],
    queued: ["Promised; it will have to wait", "good"],
    unpromised: ["Taken; the promise comes when it has been measured", "open"],
    counter: ["Not at this rate", "bad"],
    refused: ["Not possible here", "bad"],
};

function Quote({ quote, kind }) {
    const [title, tone] = verdicts[quote.verdict] ?? [quote.verdict, ""];
    const wait = isNumber(quote.start_s) ? quote.start_s - now() : null;
    return (
        <div class={`quote ${tone}`}>
            <p class="verdict">{title}</p>
            <p>{quote.reason}</p>
            <dl class="pairs">
                {isNumber(quote.promised_rate) && (<><dt>Promised</dt><dd>{rate(quote.promised_rate, kind)} with {percent(quote.confidence)} confidence</dd></>)}
                {isNumber(quote.chance) && quote.verdict === "unpromised" && (<><dt>Chance</dt><dd>{percent(quote.chance)} that some type gives it, as believed</dd></>)}
                {quote.rate && (<><dt>Expected rate</dt><dd>{interval(quote.rate.value, quote.rate.low, quote.rate.high, digits)} <span class="quiet">{quote.rate.source}</span></dd></>)}
                {quote.watts && (<><dt>Power</dt><dd>{interval(quote.watts.value, quote.watts.low, quote.watts.high, watts)}</dd></>)}
                {quote.joules && (<><dt>Energy</dt><dd>{interval(quote.joules.value, quote.joules.low, quote.joules.high, energy)}</dd></>)}
                {quote.type && (<><dt>Where</dt><dd>{quote.type}{quote.node ? `, ${quote.node}` : ""}{quote.neighbour ? `, beside job ${quote.neighbour.job}` : ", alone"}</dd></>)}
                {isNumber(wait) && (<><dt>Starts</dt><dd>{wait < 5 ? "at once" : `in about ${duration(wait)}`}</dd></>)}
                {isNumber(quote.end_s) && (<><dt>Ends about</dt><dd>{time(quote.end_s, now())} ({duration(quote.end_s - now())} from now)</dd></>)}
            </dl>
            {quote.counter_offers?.length > 0 && (
                <>
                    <p>What could be had:</p>
                    <ul>{quote.counter_offers.map((o, i) => <li key={i}>{o.text}</li>)}</ul>
                </>
            )}
        </div>
    );
}

// The newest quote; typing on withdraws the question before.
function useQuote(form) {
    const [state, set] = useState({});
    const lacking = missing(form), body = JSON.stringify(requestOf(form));
    useEffect(() => {
        if (lacking) return set({});
        const abort = new AbortController();
        const timer = setTimeout(async () => {
            try {
                const { quote } = await post("/v1/quotes", { job: JSON.parse(body) }, { signal: abort.signal });
                set({ quote });
            } catch (error) {
                if (error.name !== "AbortError") set({ error, quote: error.quote });
            }
        }, 300);
        return () => {
            clearTimeout(timer);
            abort.abort();
        };
    }, [body, lacking]);
    return { ...state, lacking };
}

function Fields({ form, set }) {
    const change = (key) => (e) => set({ ...form, [key]: e.target.type === "checkbox" ? e.target.checked : e.target.value });
    const field = (key, label, more = {}) => (
        <label>
            {label}
            <input name={key} value={form[key]} onInput={change(key)} {...more} />
        </label>
    );
    const amount = (key, label, more) => field(key, label, { type: "number", min: 0, step: "any", inputMode: "decimal", ...more });
    const tick = (key, label) => (
        <label class="check">
            <input type="checkbox" name={key} checked={form[key]} onChange={change(key)} />
            {label}
        </label>
    );
    const choice = (key, label, options) => (
        <label>
            {label}
            <select name={key} value={form[key]} onChange={change(key)}>
                {options.map(([value, word]) => <option key={value} value={value}>{word}</option>)}
            </select>
        </label>
    );
    const service = form.kind === "inference";
    const types = [...new Set([...live.devices.values()].map((d) => d.type))];
    return (
        <>
            <fieldset>
                <legend>The job</legend>
                {field("name", "Name", { maxLength: 79 })}
                {choice("kind", "Kind", [["training", "training"], ["inference", "service"]])}
                {field("command", simulated() ? "Command (not run: the cluster is simulated)" : "Command", { required: !simulated(), placeholder: "python train.py" })}
            </fieldset>
            <fieldset>
                <legend>What it needs</legend>
                {!service && choice("need", "Need", [["rate", "a rate"], ["deadline", "to be done in time"], ["best_effort", "best effort"]])}
                {(service || form.need === "rate") && amount("rate", service ? "Requests/s" : "Steps/s")}
                {service && amount("latency", "Answers within, ms")}
                {!service && form.need === "deadline" && amount("within", "Hours from now")}
                {!service && amount("steps", "Steps in all")}
                {amount("confidence", "Confidence, 0 to 0.999", { max: 0.999, placeholder: "the policy's" })}
                {amount("gpus", "GPUs", { min: 1, step: 1 })}
                {amount("memory", "Memory a GPU, GB", { placeholder: "not known" })}
                {tick("share", "May share a GPU")}
                {tick("move", "May be moved")}
                {tick("accept", "Take less if that is all there is")}
                <span class="types" role="group" aria-label="GPU types it may run on; none chosen means any">
                    <span class="quiet">Only on (none chosen: any)</span>
                    {types.map((t) => (
                        <label class="check" key={t}>
                            <input type="checkbox" checked={form.types.includes(t)} onChange={(e) => set({ ...form, types: e.target.checked ? [...form.types, t] : form.types.filter((x) => x !== t) })} />
                            {t}
                        </label>
                    ))}
                </span>
            </fieldset>
            <fieldset>
                <legend>What it is (for the first guess; may be left out)</legend>
                {field("family", "Family", { maxLength: 47, placeholder: "ResNet-50" })}
                {choice("model", "Model", models.map((m) => [m, m]))}
                {amount("batch", "Batch", { step: 1 })}
                {amount("gmac", "GMAC a sample")}
                {amount("params", "Parameters, millions")}
            </fieldset>
        </>
    );
}

export function Submit() {
    useLive();
    useTitle("Submit");
    const [form, set] = useState(blank);
    const [refused, setRefused] = useState(null);
    const [busy, setBusy] = useState(false);
    const { quote, error, lacking } = useQuote(form);
    const submit = async (event) => {
        event.preventDefault();
        setBusy(true);
        try {
            const answer = await post("/v1/jobs", requestOf(form), { headers: { "Idempotency-Key": crypto.getRandomValues(new Uint32Array(4)).join("-") } });
            go(`/jobs/${answer.job.id}`);
        } catch (failure) {
            setRefused(failure);
        }
        setBusy(false);
    };
    return (
        <div class="page">
            <div class="head">
                <h1>Submit</h1>
                <Simulated what="to a simulated cluster" />
            </div>
            <form class="submit" onSubmit={submit}>
                <div class="fields">
                    <Fields form={form} set={set} />
                </div>
                <div class="beside">
                    <h2>The quote</h2>
                    <div aria-live="polite">
                        {lacking ? <p class="quiet">{lacking}</p> : quote ? <Quote quote={quote} kind={form.kind} /> : !error && <p class="quiet">Asking …</p>}
                        <Trouble error={error} />
                    </div>
                    <button type="submit" class="primary" disabled={busy || !!lacking || !!error}>
                        Submit
                    </button>
                    <Trouble error={refused} />
                    <p class="quiet">A quote changes nothing. What it promises is binding when the job is submitted.</p>
                </div>
            </form>
        </div>
    );
}
