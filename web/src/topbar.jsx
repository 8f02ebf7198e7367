// topbar.jsx - on every page: which cluster, what it draws, what was promised, what is wrong
import { Chart } from "./chart.jsx";
import { count, energy, interval, isNumber, percent, watts } from "./format.js";
import { live, signOut, simulated, useLive } from "./live.js";
import { address } from "./route.js";
import { Figure } from "./ui.jsx";

const pages = [
    ["cluster", "Cluster"],
    ["jobs", "Jobs"],
    ["learning", "Learning"],
    ["energy", "Energy"],
    ["advice", "Advice"],
    ["submit", "Submit"],
    ["operate", "Operate"],
];

function wrong(summary) {
    if (!summary) return null;
    const { promises, devices, nodes, warnings } = summary;
    if (warnings?.length) return [warnings[0], address("/operate")];
    if (promises.broken > 0)
        return [`${count(promises.broken, "promise does", "promises do")} not hold`, address("/jobs", { state: "running", short: 1 })];
    if (nodes.down > 0) return [`${count(nodes.down, "node is", "nodes are")} down`, address("/operate")];
    if (devices.failed > 0) return [`${count(devices.failed, "device has", "devices have")} failed`, address("/cluster")];
    return null;
}

function Power() {
    const points = live.trends?.points ?? [];
    const where = simulated() ? "simulated, modelled" : "";
    return (
        <Figure label="Power now" exact={`watts ${live.summary.watts.toFixed(1)}`} source={where}>
            {watts(live.summary.watts)}
            {points.length > 1 && (
                <Chart
                    times={points.map((p) => p.at_s)}
                    series={[{ label: "", colour: "#c8641b", values: points.map((p) => p.watts), width: 1.5 }]}
                    show={watts}
                    label={`Power over the last hour, ${watts(Math.min(...points.map((p) => p.watts)))} to ${watts(Math.max(...points.map((p) => p.watts)))}`}
                    height={26}
                    legend={false}
                    spare
                />
            )}
        </Figure>
    );
}

export function TopBar({ page }) {
    useLive();
    const { summary, today, ever, version, who, link } = live;
    const trouble = wrong(summary);
    return (
        <header>
            <div class="bar">
                <a class="brand" href={address("/cluster")}>
                    <img src="/ui/icon.svg" alt="" width="24" height="24" /> Corgi
                </a>
                <nav aria-label="Pages">
                    {pages.map(([name, title]) => (
                        <a key={name} href={address(`/${name}`)} aria-current={page === name ? "page" : undefined}>
                            {title}
                        </a>
                    ))}
                </nav>
                <span class="who">
                    {version && (
                        <span class="tag" title={`corgid ${version.version}, engine ${version.engine}`}>
                            {simulated() ? `simulated, ${version.speed}× as fast` : `${version.engine} engine`}
                        </span>
                    )}
                    {who && (
                        <span class="quiet">
                            {who.user || "nobody"} ({who.role})
                        </span>
                    )}
                    {who?.token && (
                        <button type="button" class="plain" onClick={signOut}>
                            Sign out
                        </button>
                    )}
                </span>
            </div>
            {summary && (
                <div class="figures">
                    <Power />
                    <Figure label="Promises kept" exact="promises.kept_share, of promised job time so far">
                        {isNumber(summary.promises.kept_share) ? percent(summary.promises.kept_share, 1) : "none to judge yet"}
                    </Figure>
                    <Figure label="Energy today" exact={today ? `joules ${Math.round(today.joules)}` : ""}>
                        {energy(today?.joules)}
                    </Figure>
                    <Figure label="Saved so far" exact="saved_joules, against each job alone on the fastest type that would have been free">
                        {isNumber(ever?.saved_joules) ? interval(ever.saved_joules, ever.saved_joules_low, ever.saved_joules_high, energy) : "not known yet"}
                    </Figure>
                    <Figure label="Jobs">
                        {summary.jobs.running.toLocaleString("en")} running, {summary.jobs.waiting.toLocaleString("en")} waiting
                    </Figure>
                    <Figure label="State" tone={trouble || link !== "live" ? "bad" : ""}>
                        {link !== "live" ? "not connected" : trouble ? <a href={trouble[1]}>{trouble[0]}</a> : "nothing wrong"}
                    </Figure>
                </div>
            )}
            <div aria-live="polite">{live.notice && <p class={`notice ${link}`}>{live.notice}</p>}</div>
        </header>
    );
}
