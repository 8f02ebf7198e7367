// energy.jsx - watts by generation, joules by whom, what was saved, what it cost
import { get, query } from "../api.js";
import { Chart, stacked } from "../chart.jsx";
import { count, digits, energy, interval, isNumber, percent, time, watts } from "../format.js";
import { dayOfTrends, live, now, simulated, useLive } from "../live.js";
import { hasLimit, limitAt, limitSentence } from "../power_limit.js";
import { setQuery } from "../route.js";
import { Table } from "../table.jsx";
import { Empty, Figure, JobLink, seriesColour, Simulated, Trouble, useAsked, useTitle } from "../ui.jsx";

function Power() {
    const { data, error } = useAsked(dayOfTrends, [], 10000);
    const policy = useAsked((signal) => get("/v1/policy", { signal }), [], 30000);
    const points = data?.points ?? [];
    if (error) return <Trouble error={error} />;
    if (points.length < 2)
        return (
            <Empty title="No power was noted yet.">
                <p>A point is kept every minute, since the daemon came up and for a day.</p>
            </Empty>
        );
    const layers = [{ label: "hosts", values: points.map((p) => p.host_watts) }, ...data.types.map((type, i) => ({ label: type, values: points.map((p) => p.type_watts[i]) }))];
    const series = stacked(layers).map((s, i) => ({ ...s, colour: i ? seriesColour(i - 1) : "#888888" }));
    const bands = series.slice(1).map((s, i) => [i + 2, i + 1, s.colour + "66"]);
    series[0].fill = "#88888855";
    if (policy.data && hasLimit(policy.data)) series.push({ label: "limit", colour: "#d55e00", dash: [6, 4], values: points.map((p) => limitAt(policy.data, p.at_s)) });
    return (
        <>
            <Chart times={points.map((p) => p.at_s)} series={series} bands={bands} show={watts} height={260} label={`Power over the last day by GPU type, now ${watts(points.at(-1).watts)}`} />
            <p class="quiet">
                {simulated() ? "Simulated; all power is modelled. " : "Hosts are modelled; devices without a meter too. "}
                {policy.data && limitSentence(policy.data)} Since the daemon came up, a day at most.
            </p>
        </>
    );
}

const spans = [["3600", "last hour"], ["86400", "last day"], ["604800", "last 7 days"], ["2592000", "last 30 days"], ["", "all"]];
const groups = [["user", "user"], ["account", "account"], ["job", "job"], ["type", "GPU type"], ["node", "node"], ["device", "device"]];

function Key({ by, row }) {
    if (by === "job" && /^\d+$/.test(row.key)) return <JobLink id={Number(row.key)} name={row.name} />;
    return { "(idle)": "nobody: idle devices and hosts", "(hosts)": "hosts", "(none)": "users without an account" }[row.key] ?? row.key;
}

function Books({ by, data }) {
    const most = Math.max(...data.rows.map((r) => r.joules), 1);
    const money = isNumber(data.cost), carbon = isNumber(data.co2_g);
    return (
        <Table label={`Energy by ${by}`} head={[[groups.find(([g]) => g === by)[1], true], ["Energy", true], ["between"], ["modelled"], ["Saved"], ...(money ? [[data.currency]] : []), ...(carbon ? [["CO₂"]] : [])]}>
            {data.rows.map((row) => (
                <tr key={row.key}>
                    <td><Key by={by} row={row} /></td>
                    <td class="barcell" title={`joules ${row.joules}`}>
                        <i style={{ width: `${(row.joules / most) * 100}%` }} aria-hidden="true" />
                        <span>{energy(row.joules)}</span>
                    </td>
                    <td class="number">{energy(row.joules_low)} to {energy(row.joules_high)}</td>
                    <td class="number">{percent(row.modelled_share)}</td>
                    <td class="number">{isNumber(row.saved_joules) ? interval(row.saved_joules, row.saved_joules_low, row.saved_joules_high, energy) : "–"}</td>
                    {money && <td class="number">{digits(row.cost)}</td>}
                    {carbon && <td class="number">{digits(row.co2_g / 1000)} kg</td>}
                </tr>
            ))}
        </Table>
    );
}

const energyOf = (p) => p.energy_kwh * 3.6e6;

// Against the books' reference placement, or against a policy of the last published replay.
function Saved({ data, against }) {
    const { data: advice } = useAsked((signal) => (live.who.role === "user" ? null : get("/v1/advice" + query({ days: 1 }), { signal })), [], 60000);
    const said = advice?.published?.advice;
    const others = said?.policies.filter((p) => p.policy !== "as-it-ran") ?? [];
    const chosen = others.find((p) => p.policy === against);
    const books = data && isNumber(data.saved_joules) ? interval(data.saved_joules, data.saved_joules_low, data.saved_joules_high, energy) : "not known yet";
    let value = books, source = "by the books of this time";
    if (chosen) {
        const was = energyOf(said.policies[0]), saved = energyOf(chosen) - was, half = (chosen.against_as_it_ran_percent_ci / 100) * was;
        value = interval(saved, saved - half, saved + half, energy);
        source = `by replay of ${said.days.toFixed(1)} days, ${count(said.draws, "draw")}, published ${time(advice.published.at_s, now())}`;
    }
    return (
        <>
            <Figure label="Saved" exact={chosen ? "published.advice.policies" : `saved_joules ${data.saved_joules}`} source={source}>{value}</Figure>
            <label class="inpage-choice">
                Against
                <select name="against" value={chosen ? against : ""} onChange={(e) => setQuery({ against: e.target.value })}>
                    <option value="">each job alone on the fastest type that was free</option>
                    {others.map((p) => <option key={p.policy} value={p.policy}>{p.policy}, all of the replay</option>)}
                </select>
            </label>
        </>
    );
}

export function Energy({ query: asked }) {
    useLive();
    useTitle("Energy");
    const by = groups.some(([g]) => g === asked.by) ? asked.by : "user", span = asked.span ?? "86400";
    const { data, error } = useAsked((signal) => get("/v1/energy" + query({ by, limit: 50, from_s: span ? Math.max(0, Math.floor(now() - Number(span))) : undefined }), { signal }), [by, span], 5000);
    return (
        <div class="page">
            <div class="head">
                <h1>Energy</h1>
                <Simulated what="simulated; power is modelled" />
            </div>
            <section>
                <h2>Power by generation</h2>
                <Power />
            </section>
            <section>
                <h2>Who used what</h2>
                <div class="filters">
                    <label>
                        By
                        <select value={by} onChange={(e) => setQuery({ by: e.target.value })}>
                            {groups.map(([value, word]) => <option key={value} value={value}>{word}</option>)}
                        </select>
                    </label>
                    <label>
                        Over the
                        <select value={span} onChange={(e) => setQuery({ span: e.target.value })}>
                            {spans.map(([value, word]) => <option key={value} value={value}>{word}</option>)}
                        </select>
                    </label>
                </div>
                <Trouble error={error} />
                {data && (
                    <>
                        <div class="figures inpage">
                            <Figure label="Energy" exact={`joules ${data.joules}`} source={`${percent(data.modelled_share)} modelled`}>{interval(data.joules, data.joules_low, data.joules_high, energy)}</Figure>
                            <Saved data={data} against={asked.against} />
                            {isNumber(data.cost) && <Figure label="Cost" exact={`cost ${data.cost}`}>{data.cost.toFixed(2)} {data.currency}</Figure>}
                            {isNumber(data.co2_g) && <Figure label="CO₂" exact={`co2_g ${data.co2_g}`}>{digits(data.co2_g / 1000)} kg</Figure>}
                        </div>
                        {data.rows.length ? (
                            <Books by={by} data={data} />
                        ) : (
                            <Empty title="Nothing was booked in that time."><p>Joules are booked as devices tell them; whole hours are kept.</p></Empty>
                        )}
                        {!isNumber(data.cost) && <p class="quiet">With <code>energy: {"{price_per_kwh: 0.30, co2_g_per_kwh: 380}"}</code> in the daemon's config, money and CO₂ are shown too.</p>}
                    </>
                )}
            </section>
        </div>
    );
}
