// jobs.jsx - all jobs as one table; the filters are in the address
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, query as asQuery } from "../api.js";
import { count, digits, energy, exactTime, isNumber, time } from "../format.js";
import { fallsShort, freshJobs, heard, live, now, useLive } from "../live.js";
import { setQuery } from "../route.js";
import { VirtualTable } from "../table.jsx";
import { Empty, JobLink, Simulated, Trouble, useTitle } from "../ui.jsx";

const states = [["", "all"], ["active", "active"], ["running", "running"], ["waiting", "waiting"], ["held", "held"], ["done", "done"], ["failed", "failed"], ["cancelled", "cancelled"]];
const page = 1000;

// What the table shows of a job, so that ten thousand do not fill the memory.
function slim(j) {
    const { id, name, user, kind, state, reason, promise, promised_rate, offered_rate, required_rate, rate, demand_rate, short_since_s, joules, submitted_s, started_s, ended_s, expected_start_s, expected_end_s } = j;
    return { id, name, user, kind, state, reason, promise, promised_rate, offered_rate, required_rate, rate, demand_rate, short_since_s, joules, submitted_s, started_s, ended_s, expected_start_s, expected_end_s, devices: j.devices.map((d) => d.name).join(", ") };
}

// Pages as they are scrolled to; those that were loaded follow the events.
function useJobs(filter) {
    const [list, set] = useState({ jobs: [], total: null, loaded: false, error: null });
    const cursor = useRef({});
    const key = JSON.stringify(filter);

    const more = useCallback(async () => {
        const mine = cursor.current;
        if (mine.busy || mine.ended) return;
        mine.busy = true;
        try {
            const answer = await get("/v1/jobs" + asQuery({ ...filter, limit: page, after: mine.after }));
            if (mine !== cursor.current) return;
            mine.after = answer.next;
            mine.ended = !answer.next;
            set((old) => ({ jobs: mine.first ? answer.jobs.map(slim) : old.jobs.concat(answer.jobs.map(slim)), total: answer.total ?? null, loaded: true, whole: !answer.next, error: null }));
            mine.far = !mine.first;
            mine.first = false;
        } catch (error) {
            if (mine === cursor.current) set((old) => ({ ...old, error }));
        }
        mine.busy = false;
    }, [key]);

    const again = useCallback(() => {
        cursor.current = { first: true };
        set((old) => ({ ...old, fresh: 0 }));
        more();
    }, [key]);

    useEffect(() => {
        let timer;
        const soon = () => (timer ||= setTimeout(() => ((timer = 0), document.hidden || again()), 2000));
        // Who has scrolled far keeps the rows; what changed is written into them.
        const hear = ({ detail }) => {
            if (!cursor.current.far) return soon();
            set((old) => {
                const at = old.jobs.findIndex((j) => j.id === detail.id);
                if (at < 0) return { ...old, fresh: (old.fresh ?? 0) + 1 };
                old.jobs[at] = { ...old.jobs[at], state: detail.state, reason: detail.reason, devices: detail.devices.map((d) => d.name).join(", ") };
                return { ...old };
            });
        };
        again();
        heard.addEventListener("job", hear);
        return () => {
            clearTimeout(timer);
            cursor.current = {};
            heard.removeEventListener("job", hear);
        };
    }, [key]);
    return { ...list, more, again };
}

// Measured against promised: a bar with a line where the promise is.
export function RateBar({ job }) {
    const latest = live.jobs.get(job.id) ?? job, known = latest.rate ?? job.rate;
    const aim = job.promised_rate ?? job.offered_rate ?? (job.required_rate > 0 ? job.required_rate : null);
    const asked = job.kind === "inference" && job.demand_rate > 0 ? Math.min(aim, job.demand_rate) : aim; // needs no more
    const word = job.promised_rate ? digits(job.promised_rate) : job.offered_rate ? `${digits(job.offered_rate)} offered` : aim ? `${digits(aim)}?` : "best effort";
    const share = asked && isNumber(known) ? Math.min(2, known / asked) / 2 : 0;
    return (
        <span class="ratebar" title={`measured ${known ?? "not yet"}, promised ${job.promised_rate ?? "nothing"}${asked < aim ? `, asked for ${asked}` : ""}`}>
            <span class="bar" aria-hidden="true">
                <i class={fallsShort(latest) ? "short" : ""} style={{ width: `${share * 100}%` }} />
                {aim && <b />}
            </span>
            <span>{isNumber(known) || aim ? `${digits(known)} / ${word}` : word}</span>
        </span>
    );
}

function when(job) {
    if (job.ended_s) return ["ended", job.ended_s];
    if (job.state === "running") return job.expected_end_s ? ["ends about", job.expected_end_s] : ["since", job.started_s];
    return job.expected_start_s ? ["starts about", job.expected_start_s] : ["waits since", job.submitted_s];
}

const columns = [
    { key: "job", title: "Job", width: "minmax(8rem, 1.4fr)", show: (j) => <JobLink id={j.id} name={j.name} /> },
    { key: "state", title: "State", width: "5.5rem", show: (j) => <span class={`state ${j.state}`} title={j.reason ?? ""}>{j.state}</span> },
    { key: "user", title: "User", width: "minmax(4rem, .6fr)", wide: true, show: (j) => j.user },
    { key: "where", title: "Where", width: "minmax(6rem, 1fr)", wide: true, show: (j) => j.devices || (j.state === "waiting" ? (j.reason ?? "") : "") },
    { key: "rate", title: "Measured / promised, 1/s", width: "minmax(8rem, 1.2fr)", show: (j) => <RateBar job={j} /> },
    { key: "energy", title: "Energy", width: "6.5rem", class: "number", wide: true, show: (j) => energy(j.joules) },
    {
        key: "when", title: "When", width: "minmax(8rem, 1fr)", wide: true,
        show: (j) => {
            const [word, at] = when(j);
            return <span title={exactTime(at)}>{word} {time(at, now())}</span>;
        },
    },
];

function Filters({ query }) {
    const text = (key, label) => (
        <label>
            {label}
            <input type="search" value={query[key] ?? ""} onInput={(e) => setQuery({ [key]: e.target.value })} />
        </label>
    );
    return (
        <form class="filters" onSubmit={(e) => e.preventDefault()} role="search" aria-label="Filter jobs">
            <label>
                State
                <select value={query.state ?? ""} onChange={(e) => setQuery({ state: e.target.value })}>
                    {states.map(([value, word]) => (
                        <option key={value} value={value}>{word}</option>
                    ))}
                </select>
            </label>
            {text("find", "Name or number")}
            {text("user", "User")}
            <label>
                Type
                <select value={query.type ?? ""} onChange={(e) => setQuery({ type: e.target.value })}>
                    <option value="">any</option>
                    {[...new Set([...live.devices.values()].map((d) => d.type))].map((t) => (
                        <option key={t}>{t}</option>
                    ))}
                </select>
            </label>
            <label class="check">
                <input type="checkbox" checked={!!query.short} onChange={(e) => setQuery({ short: e.target.checked ? 1 : "" })} />
                Promise does not hold
            </label>
        </form>
    );
}

export function Jobs({ query }) {
    useLive();
    useTitle("Jobs");
    const { jobs, total, loaded, whole, error, more, again, fresh } = useJobs({ state: query.state, user: query.user, type: query.type });
    const find = (query.find ?? "").toLowerCase();
    const rows = jobs.filter((j) => (!find || j.name.toLowerCase().includes(find) || String(j.id) === find) && (!query.short || fallsShort(live.jobs.get(j.id) ?? j)));
    const filtered = Object.keys(query).length > 0;
    return (
        <div class="page tall">
            <div class="head">
                <h1>Jobs</h1>
                <span class="quiet" role="status">
                    {!loaded ? "" : rows.length < (total ?? jobs.length) ? `${rows.length.toLocaleString("en")} of ${(total ?? jobs.length).toLocaleString("en")}` : rows.length.toLocaleString("en")}
                    {!whole && loaded && total === null ? " and more" : ""}
                </span>
                <Simulated />
                {fresh > 0 && (
                    <button type="button" class="plain right" onClick={again}>
                        {count(fresh, "new job")}: load again
                    </button>
                )}
            </div>
            <Filters query={query} />
            <Trouble error={error} />
            {rows.length || !loaded ? (
                <VirtualTable label="Jobs" rows={rows} columns={columns} rowKey={(j) => j.id} fresh={(j) => freshJobs.has(j.id)} onEnd={more} />
            ) : filtered && jobs.length + (live.summary?.jobs.running ?? 0) > 0 ? (
                <Empty title="No job is like that." />
            ) : (
                <Empty title="There is no job yet.">
                    <p>
                        <a href="#/submit">Submit one here</a>, or on the command line:
                    </p>
                    <pre>corgi submit --family CNN-CIFAR --model conv --batch 256 --min-rate 5 --steps 1e5 -- python train.py</pre>
                </Empty>
            )}
        </div>
    );
}
