// job.jsx - one job: where it was, its rate over time, its energy, why it is there, its output
import { useEffect } from "preact/hooks";
import { get, post, query } from "../api.js";
import { Chart } from "../chart.jsx";
import { Alternatives, Decision } from "../decision.jsx";
import { digits, duration, energy, exactTime, interval, isNumber, rate, time, watts } from "../format.js";
import { fallsShort, heard, live, now, useLive } from "../live.js";
import { address } from "../route.js";
import { Action, Empty, Figure, JobLink, JobMark, jobColour, Simulated, Trouble, useAsked, useTitle } from "../ui.jsx";

// ---- where it was ----------------------------------------------------------------------

// Stretches between the events that put it somewhere or took it away.
function stretches(job, events) {
    const list = [];
    let open = null;
    for (const event of events) {
        if (event.to === "running" && event.devices) {
            if (open && open.devices === event.devices) continue;
            if (open) list.push({ ...open, to: event.at_s });
            open = { from: event.at_s, devices: event.devices, kind: event.kind };
        } else if (open && event.to !== "running") {
            list.push({ ...open, to: event.at_s });
            open = null;
        }
    }
    if (open) list.push({ ...open, to: job.ended_s ?? now() });
    return list;
}

function Strip({ job, events }) {
    const parts = stretches(job, events);
    const from = job.submitted_s, to = Math.max(job.ended_s ?? now(), from + 1);
    const at = (t) => `${((t - from) / (to - from)) * 100}%`;
    if (!parts.length) return <p class="quiet">It has not run yet.</p>;
    return (
        <figure class="strip">
            <div class="track" role="img" aria-label={parts.map((p) => `${p.devices} from ${time(p.from, now())} to ${time(p.to, now())}`).join("; ")}>
                {parts.map((p, i) => (
                    <span key={p.from} class={i % 2 ? "odd" : ""} title={`${p.devices}, ${exactTime(p.from)} to ${exactTime(p.to)}`} style={{ left: at(p.from), width: at(p.to - p.from + from), background: jobColour(job.id) }}>
                        <em>{p.devices}</em>
                    </span>
                ))}
            </div>
            <figcaption class="quiet">
                <span>{time(from, now())} submitted</span>
                <span>{job.ended_s ? `${time(to, now())} ${job.state}` : "now"}</span>
            </figcaption>
        </figure>
    );
}

// ---- its rate ---------------------------------------------------------------------------

// The band is the first guess until the first measurement, then what is believed now.
function RateChart({ job, points, belief }) {
    const known = points.filter((p) => isNumber(p.rate));
    if (known.length < 2)
        return (
            <Empty title="Not measured yet.">
                <p>A job is measured in windows; the first comes within a minute of its start.</p>
            </Empty>
        );
    const first = (job.first_quote ?? job.quote)?.rate;
    const times = [job.started_s ?? known[0].at_s - 1, ...known.map((p) => p.at_s)];
    const flat = (value) => times.map(() => value);
    const band = (key) => times.map((t, i) => (i <= 1 ? first?.[key] : belief?.[key]) ?? null);
    const most = Math.max(...known.map((p) => p.rate), job.promised_rate ?? 0, job.required_rate) * 2;
    const within = (values) => values.map((v) => (v === null ? null : Math.min(v, most)));
    const series = [
        { label: "", colour: "transparent", values: within(band("high")) },
        { label: "", colour: "transparent", values: within(band("low")) },
        { label: "measured", colour: "#0072b2", values: [null, ...known.map((p) => p.rate)], points: known.length < 60 },
    ];
    if (job.promised_rate) series.push({ label: "promised", colour: "#d55e00", dash: [6, 4], values: flat(job.promised_rate) });
    else if (job.required_rate > 0) series.push({ label: "needed", colour: "#8a6d00", dash: [2, 4], values: flat(job.required_rate) });
    return (
        <>
            <Chart
                times={times}
                series={series}
                bands={[[1, 2, "rgba(86, 180, 233, 0.25)"]]}
                show={digits}
                height={220}
                label={`Measured rate over time, last ${rate(known.at(-1).rate, job.kind)}${job.promised_rate ? `, promised ${rate(job.promised_rate, job.kind)}` : ""}`}
            />
            <p class="quiet">
                The band holds the rate with 90 % probability as predicted: before the first measurement {first ? interval(first.value, first.low, first.high, digits) : "nothing was predicted"}, now{" "}
                {belief ? `${interval(belief.value, belief.low, belief.high, digits)}, ${belief.source}` : "nothing"}. Measured: {known.at(-1).source ?? "by its engine"}.
            </p>
        </>
    );
}

// ---- the page ---------------------------------------------------------------------------

function Head({ job, again }) {
    const mine = live.who.role === "operator" || live.who.user === job.user;
    const may = live.who.role !== "viewer" && mine;
    const tell = (what) => async () => {
        await post(`/v1/jobs/${job.id}/${what}`, { reason: "from the dashboard" });
        again();
    };
    const ended = ["done", "failed", "cancelled"].includes(job.state);
    return (
        <div class="head">
            <h1>
                <JobMark id={job.id} /> Job {job.id} {job.name}
            </h1>
            <span class={`state ${job.state}`}>{job.state}</span>
            <Simulated />
            {may && (
                <span class="right">
                    {job.state === "waiting" && <Action run={tell("hold")}>Hold</Action>}
                    {job.state === "held" && <Action run={tell("release")}>Release</Action>}
                    {!ended && <Action run={tell("cancel")} tone="danger">Cancel</Action>}
                </span>
            )}
        </div>
    );
}

function Facts({ job }) {
    const steps = job.total_steps > 0 ? `${digits(job.steps_done)} of ${digits(job.total_steps)}` : digits(job.steps_done);
    const promise = { given: rate(job.promised_rate, job.kind), pending: "not yet: it is measured first", offered: `less: ${rate(job.offered_rate, job.kind)} can be had`, none: "asked for none" }[job.promise];
    return (
        <div class="figures inpage">
            <Figure label="Promised" tone={fallsShort(job) ? "bad" : ""} exact={`promised_rate ${job.promised_rate}`}>{promise}</Figure>
            <Figure label="Measured" exact={`rate ${job.rate}`} source="last window">{rate(job.rate, job.kind)}</Figure>
            <Figure label="Where" exact={job.devices.map((d) => d.type).join(", ")}>
                {job.devices.map((d) => <a key={d.name} href={address("/cluster", { device: d.name })}>{d.name}</a>)}
                {!job.devices.length && "nowhere"}
            </Figure>
            {job.kind === "inference" ? (
                <>
                    <Figure label="Asked for" exact={`demand_rate ${job.demand_rate}`}>{rate(job.demand_rate, job.kind)}</Figure>
                    <Figure label="Answers within" exact={`latency_s ${job.latency_s}`} source={job.need.latency_s ? `99 % of them; ${digits(job.need.latency_s * 1000)} ms are asked for` : "99 % of them"}>
                        {isNumber(job.latency_s) ? `${digits(job.latency_s * 1000)} ms` : "not measured yet"}
                    </Figure>
                </>
            ) : (
                <Figure label="Steps" exact={`steps_done ${job.steps_done}`}>{steps}</Figure>
            )}
            <Figure label="Power" exact={`watts ${job.watts}`}>{watts(job.watts)}</Figure>
            <Figure label="Energy" exact={`joules ${job.joules}`}>{interval(job.joules, job.joules_low, job.joules_high, energy)}</Figure>
            <Figure label="Saved" exact={`saved_joules ${job.saved_joules}, against alone on the fastest type that would have been free`}>
                {isNumber(job.saved_joules) ? interval(job.saved_joules, job.saved_joules_low, job.saved_joules_high, energy) : "not known yet"}
            </Figure>
            <Figure label={job.ended_s ? "Ended" : "Ends about"} exact={exactTime(job.ended_s ?? job.expected_end_s)}>
                {time(job.ended_s ?? job.expected_end_s, now())}
            </Figure>
        </div>
    );
}

function Output({ id }) {
    const { data, error } = useAsked((signal) => get(`/v1/jobs/${id}/output` + query({ lines: 40 }), { signal }), [id], 3000);
    if (error) return <p class="quiet">{error.message}</p>;
    if (!data) return null;
    if (!data.text) return <p class="quiet">{data.note ?? "Nothing printed yet."}</p>;
    return <pre class="output" tabIndex={0} aria-label="The last lines it printed">{data.text}</pre>;
}

export function Job({ id }) {
    useLive();
    const base = `/v1/jobs/${id}`;
    const job = useAsked((signal) => get(base, { signal }), [id], 2000);
    const history = useAsked((signal) => get(`${base}/history` + query({ limit: 1000 }), { signal }), [id]);
    const measured = useAsked((signal) => get(`${base}/measurements` + query({ limit: 1000 }), { signal }), [id], 3000);
    const decisions = useAsked((signal) => get("/v1/decisions" + query({ job: id, limit: 20 }), { signal }), [id]);
    const type = job.data?.devices[0]?.type;
    const beside = job.data?.neighbours?.[0]?.job ?? "none";
    const believed = useAsked(async (signal) => type && get("/v1/estimates" + query({ job: id, type, beside, limit: 1 }), { signal }), [id, type, beside], 5000);
    useTitle(job.data ? `Job ${id} ${job.data.name}` : `Job ${id}`);
    useEffect(() => {
        const hear = (e) => {
            if (e.detail.id !== id) return;
            for (const part of [job, history, decisions]) part.again();
        };
        heard.addEventListener("job", hear);
        return () => heard.removeEventListener("job", hear);
    }, [id]);

    if (job.error && !job.data) return <Trouble error={job.error} />;
    if (!job.data) return <p class="quiet">Asking the daemon …</p>;
    const j = job.data;
    return (
        <div class="page">
            <Head job={j} again={job.again} />
            {j.reason && <p>{j.reason}</p>}
            <Facts job={j} />
            <section>
                <h2>Where it was</h2>
                <Strip job={j} events={history.data?.events ?? []} />
            </section>
            <section>
                <h2>Rate over time</h2>
                <RateChart job={j} points={measured.data?.points ?? []} belief={believed.data?.cells?.[0]?.rate} />
                <p>
                    <a href={address("/learning", { job: id })}>What is believed of it on every GPU type</a>
                </p>
            </section>
            {j.neighbours?.length > 0 && (
                <section>
                    <h2>Beside it</h2>
                    <ul class="plainlist">
                        {j.neighbours.map((n) => (
                            <li key={n.job}>
                                <JobLink id={n.job} name={n.name} /> {n.user && <span class="quiet">of {n.user}, {digits(n.rate)}/s</span>}
                            </li>
                        ))}
                    </ul>
                </section>
            )}
            <section>
                <h2>Why</h2>
                {decisions.data?.decisions.map((d) => <Decision key={d.id} decision={d} kind={j.kind} withJob={false} />)}
                {j.places && <Alternatives list={j.places} kind={j.kind} />}
                {decisions.data?.decisions.length === 0 && !j.places && <p class="quiet">Nothing was decided about it yet.</p>}
            </section>
            <section>
                <h2>What became of it</h2>
                <ol class="history">
                    {(history.data?.events ?? []).map((e) => (
                        <li key={e.id}>
                            <span title={exactTime(e.at_s)}>{time(e.at_s, now())}</span> <b>{e.kind}</b> {e.devices ?? ""} {e.text ?? ""}
                        </li>
                    ))}
                </ol>
                <p class="quiet">
                    Submitted by {j.user} {duration(now() - j.submitted_s)} ago; {j.moves} moves, {j.restarts} restarts.
                </p>
            </section>
            <section>
                <h2>Output</h2>
                <Output id={id} />
            </section>
        </div>
    );
}
