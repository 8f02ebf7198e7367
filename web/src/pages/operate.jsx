// operate.jsx - for operators: nodes, how the loop decides, who did what
import { useState } from "preact/hooks";
import { get, patch, post, query, remove } from "../api.js";
import { nodeWatts } from "../device.js";
import { count, digits, duration, energy, exactTime, percent, time, watts } from "../format.js";
import { isOperator, live, loadNodes, now, useLive } from "../live.js";
import { hoursWords, readHours } from "../power_limit.js";
import { Table, VirtualTable } from "../table.jsx";
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
    ["preempt", "Who is stopped for others", "choice", [["none", "nobody"], ["best_effort", "best effort, for promises"], ["priority", "smaller priority, for larger"]]],
    ["fair_share_s", "Shares count half after, s (0: none)", "number", { min: 0, step: "any" }],
    ["power_limit_watts", "Power limit, W (0: none)", "number", { min: 0, step: "any" }],
    ["power_limit_hours", "Other limits by hour, UTC", "hours"],
];

// Typed as words; what cannot be meant is said, and not sent.
function Hours({ value, change, ...more }) {
    const look = (e) => {
        const hours = readHours(e.target.value);
        e.target.setCustomValidity(hours ? "" : "as 07:00-20:00 12kW, with commas between");
        change(hours ?? "");
    };
    return <input type="text" placeholder="07:00-20:00 12kW" defaultValue={hoursWords(value)} onInput={look} onChange={(e) => e.target.reportValidity()} {...more} />;
}

const figures = [
    ["joules", "Energy", energy],
    ["mean_watts", "Mean power", watts],
    ["peak_watts", "Highest power", watts],
    ["done", "Jobs done", String],
    ["waiting", "Jobs waiting at the end", String],
    ["waited_s", "Waited, all together", duration],
    ["moves", "Moves", String],
    ["kept_share", "Promises kept, of the time", (x) => percent(x, 1)],
];

// What the daemon played on from the present, with the settings in force and with others.
function Preview({ data }) {
    const ratio = data.present.joules ? data.proposed.joules / data.present.joules : 1;
    const change = Math.abs(1 - ratio) < 0.0005 ? "The same energy" : ratio > 2 ? `${digits(ratio)} times the energy` : `${percent(Math.abs(1 - ratio), 1)} ${ratio < 1 ? "less" : "more"} energy`;
    return (
        <div class="preview" role="status">
            <p>
                {change} over {duration(data.until_s - data.from_s)},
                {" "}by {count(data.jobs, "job")} as they are believed to run. <span class="quiet">Nobody comes, nothing fails{data.left_out ? `; ${count(data.left_out, "job")} of too many kinds left out` : ""}.</span>
            </p>
            <table>
                <thead>
                    <tr><th scope="col">Predicted</th><th scope="col" class="number">As it is</th><th scope="col" class="number">With the changes</th></tr>
                </thead>
                <tbody>
                    {figures.map(([key, label, show]) => (
                        <tr key={key}>
                            <th scope="row">{label}</th>
                            <td class="number">{data.present[key] == null ? "–" : show(data.present[key])}</td>
                            <td class="number">{data.proposed[key] == null ? "–" : show(data.proposed[key])}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

function Policy() {
    const { data, error, again } = useAsked((signal) => get("/v1/policy", { signal }), []);
    const [changes, change] = useState({});
    const [preview, show] = useState(null);
    const set = (all) => {
        change(all);
        show(null); // it was of other changes
    };
    if (error) return <Trouble error={error} />;
    if (!data) return null;
    const value = (key) => changes[key] ?? data[key];
    const different = Object.fromEntries(Object.entries(changes).filter(([key, v]) => v !== data[key] && v !== ""));
    const look = async () => show(await post("/v1/policy/preview", different));
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
                        {type === "choice" ? (
                            <select name={key} disabled={!isOperator()} value={value(key)} onInput={(e) => set({ ...changes, [key]: e.target.value })}>
                                {more.map(([choice, words]) => <option key={choice} value={choice}>{words}</option>)}
                            </select>
                        ) : type === "hours" ? (
                            <Hours key={data.changed_s} name={key} disabled={!isOperator()} value={data[key]} change={(hours) => set({ ...changes, [key]: hours })} />
                        ) : (
                            <input
                                type={type}
                                name={key}
                                disabled={!isOperator()}
                                {...(type === "checkbox" ? { checked: value(key) } : { value: value(key), ...more })}
                                onInput={(e) => set({ ...changes, [key]: type === "checkbox" ? e.target.checked : e.target.value === "" ? "" : Number(e.target.value) })}
                            />
                        )}
                        {type === "checkbox" && label}
                    </label>
                ))}
            </div>
            {isOperator() && (
                <Action run={look} disabled={!Object.keys(different).length} title="Plays the jobs there are on with these settings">
                    Preview
                </Action>
            )}
            {isOperator() && (
                <Action run={apply} done="Applied, until the daemon's next start." disabled={!Object.keys(different).length} tone="primary">
                    Apply {Object.keys(different).length ? count(Object.keys(different).length, "change") : ""}
                </Action>
            )}
            {preview && <Preview data={preview} />}
            {data.changed_by && (
                <p class="quiet" title={exactTime(data.changed_s)}>
                    Changed by {data.changed_by}, {time(data.changed_s, now())}.
                </p>
            )}
        </>
    );
}

const roles = [["viewer", "viewer: looks"], ["user", "user: submits, has their own jobs"], ["operator", "operator: everything"]];

// The secret is shown once: the daemon keeps a digest of it.
function NewToken({ made }) {
    const [form, set] = useState({ user: "", role: "viewer", note: "" });
    const [token, show] = useState(null);
    const [error, fail] = useState(null);
    const change = (key) => (e) => set({ ...form, [key]: e.target.value });
    const submit = async (event) => {
        event.preventDefault();
        fail(null);
        try {
            show(await post("/v1/tokens", { user: form.user, role: form.role, ...(form.note ? { note: form.note } : {}) }));
            made();
        } catch (failure) {
            fail(failure);
        }
    };
    return (
        <form class="filters" onSubmit={submit} aria-label="Make a token">
            <label>
                User
                <input name="token_user" required maxLength={63} value={form.user} onInput={change("user")} />
            </label>
            <label>
                Role
                <select name="token_role" value={form.role} onChange={change("role")}>
                    {roles.map(([value, word]) => <option key={value} value={value}>{word}</option>)}
                </select>
            </label>
            <label>
                What it is for
                <input name="token_note" maxLength={200} value={form.note} onInput={change("note")} />
            </label>
            <button type="submit">Make a token</button>
            <Trouble error={error} />
            {token && (
                <p class="made" role="status">
                    Shown this once: <code>{token.token}</code>
                </p>
            )}
        </form>
    );
}

function Tokens() {
    const { data, error, again } = useAsked((signal) => get("/v1/tokens", { signal }), [], 15000);
    if (error) return <Trouble error={error} />;
    if (!data) return null;
    return (
        <>
            <NewToken made={again} />
            {data.tokens.length > 0 && (
                <Table label="Tokens" bounded head={[["Token", true], ["User", true], ["Role", true], ["For", true], ["Made", true], ["Ends", true], ["Take it back", true]]}>
                    {data.tokens.map((t) => (
                        <tr key={t.id}>
                            <td><code>{t.id}</code>{t.id === live.who.token ? " (yours)" : ""}</td>
                            <td>{t.user}</td>
                            <td>{t.role}</td>
                            <td>{t.note ?? ""}</td>
                            <td title={exactTime(t.created_s)}>{time(t.created_s, now())}</td>
                            <td title={exactTime(t.expires_s)}>{t.expires_s ? time(t.expires_s, now()) : "never"}</td>
                            <td>
                                <Action
                                    tone="danger"
                                    run={async () => {
                                        await remove(`/v1/tokens/${encodeURIComponent(t.id)}`);
                                        again();
                                    }}
                                >
                                    Revoke
                                </Action>
                            </td>
                        </tr>
                    ))}
                </Table>
            )}
        </>
    );
}

function Audit() {
    const { data, error } = useAsked((signal) => get("/v1/audit" + query({ limit: 100 }), { signal }), [], 5000);
    if (error) return <Trouble error={error} />;
    if (!data?.entries.length) return <Empty title="Nobody changed anything yet." />;
    return (
        <Table label="Who did what" bounded head={[["When", true], ["Who", true], ["What", true], ["Outcome", true], ["From", true]]}>
            {data.entries.map((e) => (
                <tr key={e.id}>
                    <td title={exactTime(e.at_s)}>{time(e.at_s, now())}</td>
                    <td>{e.user ?? "unknown"}</td>
                    <td>{e.action} <span class="quiet">{e.target}</span></td>
                    <td><span class={`state ${e.outcome}`}>{e.outcome}</span></td>
                    <td class="quiet">{e.from}</td>
                </tr>
            ))}
        </Table>
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
            {isOperator() && (
                <section>
                    <h2>Tokens</h2>
                    <Tokens />
                </section>
            )}
            <section>
                <h2>Who did what</h2>
                {isOperator() ? <Audit /> : <p class="quiet">Only operators see the audit log.</p>}
            </section>
        </div>
    );
}
