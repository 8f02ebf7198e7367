// learning.jsx - how good the estimates are, and what is believed of one job everywhere
import { get, query } from "../api.js";
import { Chart } from "../chart.jsx";
import { count, digits, exactTime, interval, isNumber, percent, time, watts } from "../format.js";
import { dayOfTrends, live, now, useLive } from "../live.js";
import { setQuery } from "../route.js";
import { Table } from "../table.jsx";
import { Empty, JobLink, Simulated, Trouble, useAsked, useTitle } from "../ui.jsx";

const bases = { measured: "●", correlated: "◐", initial: "○" };

function Quality() {
    const { data, error } = useAsked(dayOfTrends, [], 10000);
    const points = (data?.points ?? []).filter((p) => isNumber(p.error));
    if (error) return <Trouble error={error} />;
    if (points.length < 2)
        return (
            <Empty title="Nothing was learned since the daemon came up.">
                <p>Each window that is measured is compared with what had been predicted; run a job for a few minutes.</p>
            </Empty>
        );
    const last = points.at(-1), times = points.map((p) => p.at_s);
    return (
        <div class="columns">
            <section>
                <h2>Error of recent predictions</h2>
                <Chart times={times} series={[{ label: "error", colour: "#0072b2", values: points.map((p) => p.error), points: points.length < 30 }]} show={(x) => percent(x, x < 0.1 ? 1 : 0)} label={`Relative error of recent predictions, now ${percent(last.error, 1)}`} height={170} />
            </section>
            <section>
                <h2>Inside the 90 % interval</h2>
                <Chart
                    times={times}
                    series={[
                        { label: "coverage", colour: "#009e73", values: points.map((p) => p.coverage), points: points.length < 30 },
                        { label: "as it should be", colour: "#8a6d00", dash: [6, 4], values: points.map(() => 0.9) },
                    ]}
                    show={(x) => percent(x)}
                    label={`Share of recent measurements inside their predicted interval, now ${percent(last.coverage)}`}
                    height={170}
                />
            </section>
        </div>
    );
}

// Columns by neighbour, rows by type.
function matrix(cells) {
    const types = [...new Set(cells.map((c) => c.type))];
    const beside = [...new Map(cells.map((c) => [c.beside[0]?.job ?? 0, c.beside[0]])).entries()].sort((a, b) => a[0] - b[0]);
    const at = new Map(cells.map((c) => [`${c.type} ${c.beside[0]?.job ?? 0}`, c]));
    return { types, beside, cell: (type, job) => at.get(`${type} ${job}`) };
}

function HeatMap({ job, cells }) {
    const { types, beside, cell } = matrix(cells);
    const most = Math.max(...cells.map((c) => c.rate.value));
    return (
        <div class="scroll" tabIndex={0} role="region" aria-label={`Rates of job ${job.id} by type and neighbour`}>
            <table class="heat">
                <thead>
                    <tr>
                        <th scope="col">GPU type</th>
                        {beside.map(([id, n]) => (
                            <th scope="col" key={id}>
                                {id ? <>beside <JobLink id={id} name={n.name} /></> : "alone"}
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {types.map((type) => (
                        <tr key={type}>
                            <th scope="row">{type}</th>
                            {beside.map(([id]) => {
                                const c = cell(type, id);
                                if (!c) return <td key={id}>–</td>;
                                const { value, low, high, source, observations } = c.rate;
                                return (
                                    <td key={id} class={c.meets ? "" : "misses"} style={{ "--heat": `${Math.round((value / most) * 45)}%` }} title={`rate ${value} (${low} to ${high}), ${source}, ${observations} observations; ${watts(c.watts?.value)}; fits with ${percent(c.fits)}`}>
                                        <b>
                                            <span aria-hidden="true">{bases[source]}</span> {digits(value)}
                                        </b>
                                        <small>
                                            {digits(low)} to {digits(high)}
                                        </small>
                                        <small>
                                            {source}
                                            {c.meets ? "" : ", not enough"}
                                        </small>
                                    </td>
                                );
                            })}
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

// The first guess, what is believed where it is, and what came.
function Path({ job, cells }) {
    const type = job.devices[0]?.type, next = job.neighbours?.[0]?.job ?? 0;
    const here = cells.find((c) => c.type === type && (c.beside[0]?.job ?? 0) === next)?.rate;
    const quoted = job.first_quote ?? job.quote, first = quoted?.rate;
    return (
        <p>
            First guess{first && quoted.type ? ` (${quoted.type})` : ""}: <b>{first ? interval(first.value, first.low, first.high, digits) : "none"}</b>. Believed where it is now{type ? ` (${type}${next ? `, beside ${next}` : ", alone"})` : ""}:{" "}
            <b>{here ? interval(here.value, here.low, here.high, digits) : "–"}</b>. Measured: <b>{digits(job.rate)}</b>.
        </p>
    );
}

function Beliefs({ id }) {
    const { data, error } = useAsked(async (signal) => {
        const [job, beliefs] = await Promise.all([get(`/v1/jobs/${id}`, { signal }), get("/v1/estimates" + query({ job: id, limit: 1000 }), { signal })]);
        return { job, cells: beliefs.cells };
    }, [id], 5000);
    if (error) return <Trouble error={error} />;
    if (!data) return null;
    if (!data.cells.length) return <Empty title={`Job ${id} has ended; beliefs are shown of jobs that wait or run.`} />;
    return (
        <>
            <Path {...data} />
            <HeatMap {...data} />
            <p class="legend quiet">
                <span>● measured: this job was seen there</span>
                <span>◐ correlated: from jobs and types like it</span>
                <span>○ initial: the first guess</span>
                <span>The two numbers below hold the rate with 90 % probability.</span>
            </p>
        </>
    );
}

// The beliefs that measurements moved most.
function Moved() {
    const { data, error } = useAsked((signal) => get("/v1/learned", { signal }), [], 10000);
    if (error) return <Trouble error={error} />;
    if (!data) return null;
    if (!data.beliefs.length) return <p class="quiet">Nothing was measured for the first time since the daemon came up.</p>;
    const factor = (b) => b.measured_rate / b.expected.value;
    return (
        <>
            <Table label="What was learned this week" head={[["Job", true], ["On", true], ["Expected, 1/s"], ["Measured"], ["Times as fast"], ["Rested on", true], ["When", true]]}>
                {data.beliefs.map((b) => (
                    <tr key={`${b.job} ${b.type} ${b.beside}`}>
                        <td><JobLink id={b.job} name={b.name} /></td>
                        <td>{b.type}{b.beside ? <>, beside <JobLink id={b.beside} /></> : ", alone"}</td>
                        <td class="number">{interval(b.expected.value, b.expected.low, b.expected.high, digits)}</td>
                        <td class="number">{digits(b.measured_rate)}</td>
                        <td class="number">{digits(factor(b))}</td>
                        <td>{b.expected.source === "initial" ? "the first guess" : b.expected.source === "correlated" ? `${b.expected.observations} windows of others` : `${b.expected.observations} windows of its own`}</td>
                        <td title={exactTime(b.at_s)}>{time(b.at_s, now())}</td>
                    </tr>
                ))}
            </Table>
            <p class="quiet">Of {count(data.first_sights, "place")} where a job was measured for the first time since the daemon came up, those whose rate was furthest from what had been expected; a week at most.</p>
        </>
    );
}

export function Learning({ query: asked }) {
    useLive();
    useTitle("Learning");
    const jobs = [...live.jobs.values()];
    const id = Number(asked.job) || jobs[0]?.id;
    return (
        <div class="page">
            <div class="head">
                <h1>Learning</h1>
                <Simulated what="rates are simulated" />
            </div>
            <Quality />
            <section>
                <h2>Learned this week</h2>
                <Moved />
            </section>
            <section>
                <h2>What is believed of a job</h2>
                {jobs.length > 0 && (
                    <label class="inline">
                        Job
                        <select value={id} onChange={(e) => setQuery({ job: e.target.value })}>
                            {!live.jobs.has(id) && <option value={id}>{id}</option>}
                            {jobs.slice(0, 500).map((j) => (
                                <option key={j.id} value={j.id}>
                                    {j.id} {j.name}
                                </option>
                            ))}
                        </select>
                    </label>
                )}
                {id ? (
                    <Beliefs id={id} key={id} />
                ) : (
                    <Empty title="No job runs.">
                        <p>Beliefs are shown of jobs that wait or run. <a href="#/submit">Submit one.</a></p>
                    </Empty>
                )}
            </section>
        </div>
    );
}
