// operate.jsx - for operators: nodes, how the loop decides, who did what
import { useState } from "preact/hooks";
import { get, patch, post, query } from "../api.js";
import { nodeWatts } from "../device.js";
import { count, exactTime, time, watts } from "../format.js";
import { isOperator, live, loadNodes, now, useLive } from "../live.js";
import { VirtualTable } from "../table.jsx";
import { Action, Empty, Simulated, Trouble, useAsked, useTitle } from "../ui.jsx";

function tell(node, what, body = {}) {
    return async () => {
        await post(`/v1/nodes/${encodeURIComponent(node.name)}/${what}`, { ...body, reason: "from the dashboard" });
        await loadNodes();
    };
}

function NodeActions({ node }) {
    return (
        <span class="buttons">
            {node.drained ? <Action run={tell(node, "resume")}>Use again</Action> : <Action run={tell(node, "drain")}>Drain</Action>}
            {node.state === "asleep" ? (
                <Action run={tell(node, "power", { state: "awake" })}>Wake</Action>
            ) : (
                <Action run={tell(node, "power", { state: "asleep" })} disabled={node.jobs > 0 || node.state !== "awake"} title={node.jobs > 0 ? "it has jobs: drain it first" : ""}>
                    Sleep
                </Action>
            )}
        </span>
    );
}

const nodeColumns = [
    { key: "name", title: "Node", width: "minmax(6rem, 1fr)", show: (n) => n.name },
    { key: "state", title: "State", width: "minmax(5rem, .8fr)", show: (n) => (n.drained ? `${n.state}, drained` : n.state) },
    { key: "devices", title: "Devices", width: "minmax(6rem, 1fr)", wide: true, show: (n) => `${n.devices.length} ${n.devices[0]?.type ?? ""}` },
    { key: "jobs", title: "Jobs", width: "4rem", class: "number", wide: true, show: (n) => n.devices.reduce((sum, d) => sum + d.jobs.length, 0) },
    { key: "watts", title: "Power", width: "6rem", class: "number", wide: true, show: (n) => watts(nodeWatts(n)) },
    { key: "do", title: "", width: "minmax(12rem, 1.4fr)", show: (n) => (isOperator() ? <NodeActions node={n} /> : "") },
];

const knobs = [
    ["share", "Most jobs on one GPU", "number", { min: 1, max: 2, step: 1 }],
    ["confidence", "Confidence of promises", "number", { min: 0.5, max: 0.999, step: "any" }],
    ["sleep", "Idle nodes may sleep", "checkbox"],
    ["caps", "Power caps are used", "checkbox"],
    ["moves", "Running jobs are moved", "checkbox"],
    ["progress_watts", "What progress is worth, W", "number", { min: 0, step: "any" }],
    ["move_s", "Lost by a move, s", "number", { min: 0, step: "any" }],
    ["grace_s", "Wait that is no violation, s", "number", { min: 0, step: "any" }],
    ["power_limit_watts", "Power limit, W (0: none)", "number", { min: 0, step: "any" }],
];

function Policy() {
    const { data, error, again } = useAsked((signal) => get("/v1/policy", { signal }), []);
    const [changes, set] = useState({});
    if (error) return <Trouble error={error} />;
    if (!data) return null;
    const value = (key) => changes[key] ?? data[key];
    const different = Object.fromEntries(Object.entries(changes).filter(([key, v]) => v !== data[key] && v !== ""));
    const apply = async () => {
        await patch("/v1/policy", different);
        set({});
        again();
    };
    return (
        <>
            <div class="fields knobs">
                {knobs.map(([key, label, type, more]) => (
                    <label key={key} class={type === "checkbox" ? "check" : ""}>
                        {type !== "checkbox" && label}
                        <input
                            type={type}
                            name={key}
                            disabled={!isOperator()}
                            {...(type === "checkbox" ? { checked: value(key) } : { value: value(key), ...more })}
                            onInput={(e) => set({ ...changes, [key]: type === "checkbox" ? e.target.checked : e.target.value === "" ? "" : Number(e.target.value) })}
                        />
                        {type === "checkbox" && label}
                    </label>
                ))}
            </div>
            {isOperator() && (
                <Action run={apply} done="Applied, until the daemon's next start." disabled={!Object.keys(different).length} tone="primary">
                    Apply {Object.keys(different).length ? count(Object.keys(different).length, "change") : ""}
                </Action>
            )}
            {data.changed_by && (
                <p class="quiet" title={exactTime(data.changed_s)}>
                    Changed by {data.changed_by}, {time(data.changed_s, now())}.
                </p>
            )}
        </>
    );
}

function Audit() {
    const { data, error } = useAsked((signal) => get("/v1/audit" + query({ limit: 100 }), { signal }), [], 5000);
    if (error) return <Trouble error={error} />;
    if (!data?.entries.length) return <Empty title="Nobody changed anything yet." />;
    return (
        <div class="scroll bounded" tabIndex={0} role="region" aria-label="Who did what">
            <table>
                <thead>
                    <tr>
                        <th scope="col">When</th>
                        <th scope="col">Who</th>
                        <th scope="col">What</th>
                        <th scope="col">Outcome</th>
                        <th scope="col">From</th>
                    </tr>
                </thead>
                <tbody>
                    {data.entries.map((e) => (
                        <tr key={e.id}>
                            <td title={exactTime(e.at_s)}>{time(e.at_s, now())}</td>
                            <td>{e.user ?? "unknown"}</td>
                            <td>{e.action} <span class="quiet">{e.target}</span></td>
                            <td><span class={`state ${e.outcome}`}>{e.outcome}</span></td>
                            <td class="quiet">{e.from}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

export function Operate() {
    useLive();
    useTitle("Operate");
    return (
        <div class="page">
            <div class="head">
                <h1>Operate</h1>
                <Simulated what="a simulated cluster" />
            </div>
            {!isOperator() && (
                <p class="notice" role="status">
                    You are signed in as {live.who.user || "nobody"} ({live.who.role}); changing something here needs the role operator.
                </p>
            )}
            <section>
                <h2>Nodes</h2>
                <div class="bounded">
                    <VirtualTable label="Nodes" rows={live.nodes} columns={nodeColumns} rowKey={(n) => n.name} />
                </div>
            </section>
            <section>
                <h2>How the loop decides</h2>
                <Policy />
            </section>
            <section>
                <h2>Who did what</h2>
                {isOperator() ? <Audit /> : <p class="quiet">Only operators see the audit log.</p>}
            </section>
        </div>
    );
}
