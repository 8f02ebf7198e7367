// advice.jsx - what Corgi would have done where another scheduler decides
//
// The days and users of the daemon's own record, and what `corgi advise` published last.
import { get, query } from "../api.js";
import { Chart } from "../chart.jsx";
import { Decision } from "../decision.jsx";
import { count, digits, duration, exactTime, isNumber, percent, time } from "../format.js";
import { live, now, useLive } from "../live.js";
import { Table } from "../table.jsx";
import { Empty, Trouble, useAsked, useTitle } from "../ui.jsx";

const hours = (h) => (isNumber(h) ? (h > 0 && h < 0.005 ? "< 0.01" : h.toFixed(2)) : "–");
const signed = (x, places = 1) => (isNumber(x) ? `${x > 0 ? "+" : x < 0 ? "−" : ""}${Math.abs(x).toFixed(places)}` : "–");
const mean = (x, half, places = 1) => signed(x, places) + (isNumber(x) && isNumber(half) ? ` ± ${half.toFixed(places)}` : "");
const kwh = (x) => (isNumber(x) ? `${x >= 100 ? Math.round(x).toLocaleString("en") : x.toFixed(1)}` : "–");

const Cells = ({ of }) => of.map((text, i) => <td class="number" key={i}>{text}</td>);

const names = { "as-it-ran": "as it ran", corgi: "Corgi" };

function Policies({ list }) {
    const money = list.some((p) => isNumber(p.money)), carbon = list.some((p) => isNumber(p.co2_kg));
    const head = [["Under", true], ["Energy, kWh"], ["Against as it ran, %"], ...(money ? [["Money"]] : []), ...(carbon ? [["CO₂, kg"]] : []), ["Need met, % of time"], ["Wait, median h"], ["95 % wait less than, h"], ["Moves a job"]];
    return (
        <Table label="Energy by policy" head={head}>
            {list.map((p) => (
                <tr key={p.policy} class={p.policy === "corgi" ? "strong" : ""}>
                    <th scope="row">{names[p.policy] ?? p.policy}</th>
                    <Cells of={[kwh(p.energy_kwh), mean(p.against_as_it_ran_percent, p.against_as_it_ran_percent_ci), ...(money ? [digits(p.money)] : []), ...(carbon ? [digits(p.co2_kg)] : []), (p.sla_time * 100).toFixed(2), hours(p.wait_p50_s / 3600), hours(p.wait_p95_s / 3600), digits(p.moves_per_job)]} />
                </tr>
            ))}
        </Table>
    );
}

const lots = { gains: "good", loses: "bad" };

function Users({ list }) {
    return (
        <Table label="Who gains and who loses" head={[["User", true], ["Jobs"], ["GPU-hours"], ["Wait as it ran, h"], ["under Corgi, h"], ["Sooner at the end, %"], ["Less GPU energy, %"], ["Need broken as it ran, %"], ["under Corgi, %"], ["In all", true]]}>
            {list.map((u) => (
                <tr key={u.user}>
                    <th scope="row">{u.user || "(no name)"}</th>
                    <Cells of={[u.jobs, digits(u.gpu_hours), hours(u.wait_was_h), hours(u.wait_h), mean(u.sooner_percent, u.sooner_percent_ci), mean(u.gpu_energy_less_percent, u.gpu_energy_less_percent_ci), u.broken_was_percent.toFixed(2), u.broken_percent.toFixed(2)]} />
                    <td class={lots[u.lot] ?? "quiet"}>{u.lot}</td>
                </tr>
            ))}
        </Table>
    );
}

// Energy of the jobs' GPUs by the day they were handed in.
function ByDay({ list }) {
    if (list.length < 2) return null;
    const corgi = list.map((d) => d.gpu_kwh_was * (1 - d.gpu_energy_less_percent / 100));
    return (
        <Chart
            times={list.map((d) => d.at_s)}
            series={[
                { label: "as it ran", colour: "#888888", values: list.map((d) => d.gpu_kwh_was), points: true },
                { label: "under Corgi", colour: "#c8641b", values: corgi, points: true },
            ]}
            show={(x) => `${kwh(x)} kWh`}
            height={190}
            label={`Energy of the jobs' GPUs by the day they were handed in, ${count(list.length, "day")}`}
        />
    );
}

function Idle({ list }) {
    return (
        <section>
            <h2>GPUs that are hardly used</h2>
            <p class="quiet">By the counters of jobstats: jobs whose GPUs were used for less than 15 % of the time, or some not at all.</p>
            <Table label="GPUs that are hardly used" head={[["User", true], ["Jobs"], ["of counted"], ["GPU-hours held"], ["never used"], ["Mean use, %"]]}>
                {list.map((u) => (
                    <tr key={u.user}>
                        <th scope="row">{u.user || "(no name)"}</th>
                        <Cells of={[u.jobs, u.counted_jobs, digits(u.gpu_hours), digits(u.never_used_gpu_hours), u.mean_use_percent.toFixed(1)]} />
                    </tr>
                ))}
            </Table>
        </section>
    );
}

function Fit({ replay }) {
    const far = replay.energy_error_percent > 5 || replay.ends_error_percent > 5;
    return (
        <dl class="pairs">
            <dt>Energy</dt>
            <dd>{kwh(replay.energy_kwh)} kWh replayed, {kwh(replay.record_kwh)} by the record's places and times: {replay.energy_error_percent.toFixed(2)} % apart</dd>
            <dt>Ends of jobs</dt>
            <dd>{replay.ends_error_percent.toFixed(2)} % of a job's run time from the real ones on average; {percent(replay.ends_within_5_percent_share, 1)} of {count(replay.jobs, "job")} within 5 %</dd>
            <dt>Metered by Slurm</dt>
            <dd>{replay.metered_jobs ? `${count(replay.metered_jobs, "job")}, ${kwh(replay.metered_kwh)} kWh; the model says ${kwh(replay.metered_jobs_replay_kwh)} kWh for their GPUs` : "none of these jobs: energy is modelled"}</dd>
            {far && <><dt class="trouble">Take care</dt><dd>The replay does not meet the record within 5 %.</dd></>}
        </dl>
    );
}

function Published({ published }) {
    const { advice, at_s, by } = published;
    const [headline, ...notes] = advice.notes;
    return (
        <>
            <section>
                <h2>What it would have saved</h2>
                <p class="headline">{headline}</p>
                <p class="quiet">
                    <code>corgi advise</code> by {by || "somebody"} at <span title={exactTime(at_s)}>{time(at_s, now())}</span>: {count(advice.replay.jobs, "job")} of {advice.days.toFixed(1)} days, {count(advice.draws, "draw")} of what they compute. ± is a 95 % interval over the draws. Power is modelled.
                </p>
                <Policies list={advice.policies} />
            </section>
            {advice.by_day?.length > 1 && (
                <section>
                    <h2>Energy day by day</h2>
                    <ByDay list={advice.by_day} />
                    <p class="quiet">Of the jobs' GPUs, by the day the jobs were handed in; hosts and idle GPUs are in the table above.</p>
                </section>
            )}
            <section>
                <h2>Who gains, who loses</h2>
                <Users list={advice.users} />
            </section>
            {advice.hardly_used.length > 0 && <Idle list={advice.hardly_used} />}
            <section>
                <h2>How well the replay met reality</h2>
                <Fit replay={advice.replay} />
                <details>
                    <summary>All that was measured and assumed</summary>
                    <ul>{notes.map((note, i) => <li key={i}>{note}</li>)}</ul>
                </details>
            </section>
        </>
    );
}

function Days({ data }) {
    const days = data.days.filter((d) => d.jobs > 0).reverse();
    if (!days.length)
        return (
            <Empty title="No job has started in these days.">
                <p>Jobs are found as users hand them in with sbatch; each is counted once it has started.</p>
            </Empty>
        );
    return (
        <>
            <Table label="What the daemon saw, day by day" head={[["Handed in", true], ["Jobs"], ["GPU-hours"], ["Mean wait"], ["Corgi would start sooner"], ["by, on average"], ["On another GPU type"], ["Moves advised"]]}>
                {days.map((d) => (
                    <tr key={d.at_s}>
                        <th scope="row">{new Date(d.at_s * 1000).toISOString().slice(0, 10)}</th>
                        <Cells of={[d.jobs.toLocaleString("en"), digits(d.gpu_s / 3600), duration(d.mean_wait_s), d.sooner_jobs.toLocaleString("en"), duration(d.mean_sooner_s), d.elsewhere_jobs.toLocaleString("en"), d.advised_moves.toLocaleString("en")]} />
                    </tr>
                ))}
            </Table>
            {data.cut && <p class="quiet">There are more jobs than one look goes through: the oldest are left out.</p>}
        </>
    );
}

// The newest lines of the ledger.
function Lately() {
    const { data, error } = useAsked((signal) => get("/v1/decisions" + query({ kind: "placed", limit: 8 }), { signal }), [], 10000);
    if (error) return <Trouble error={error} />;
    if (!data) return null;
    if (!data.decisions.length) return <p class="quiet">Nothing yet: as long as Slurm does what Corgi would do, there is nothing to say.</p>;
    return data.decisions.map((d) => <Decision key={d.id} decision={{ ...d, kind: d.kind.replace(/^advise_/, "would ") }} />);
}

export function Advice() {
    useLive();
    useTitle("Advice");
    const { data, error } = useAsked((signal) => get("/v1/advice", { signal }), [], 60000);
    return (
        <div class="page">
            <div class="head">
                <h1>Advice</h1>
                {data?.watching && <span class="tag">Slurm decides; Corgi watches</span>}
            </div>
            <Trouble error={error} />
            {data?.published && <Published published={data.published} />}
            {data && !data.published && (
                <Empty title="No advice was published yet.">
                    <p>
                        {data.watching
                            ? "What these jobs would have cost under Corgi takes a replay of them. On a machine with the client, as an operator:"
                            : `Advice is for clusters where Slurm decides; here the ${live.version.engine === "sim" ? "simulated" : live.version.engine} engine runs what Corgi decides. With what Slurm's sacct and sinfo print it can be had all the same:`}
                    </p>
                    <pre>{data.watching ? "corgi advise --publish" : "corgi advise --from-slurm sacct.txt --slurm-nodes sinfo.txt --publish"}</pre>
                </Empty>
            )}
            {data?.watching && (
                <>
                    <section>
                        <h2>What the daemon saw, day by day</h2>
                        <Days data={data} />
                    </section>
                    <section>
                        <h2>What it would have done lately</h2>
                        <Lately />
                    </section>
                </>
            )}
        </div>
    );
}
