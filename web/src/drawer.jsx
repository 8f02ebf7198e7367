// drawer.jsx - one device: who is there, promised and measured, why, what else was possible
import { useState } from "preact/hooks";
import { get, post, query } from "./api.js";
import { Decision } from "./decision.jsx";
import { digits, duration, energy, rate, time, watts } from "./format.js";
import { isOperator, live, loadNodes, now, simulated } from "./live.js";
import { Action, JobLink, useAsked } from "./ui.jsx";

function JobHere({ id, name }) {
    const job = live.jobs.get(id);
    if (!job) return <li><JobLink id={id} name={name} /></li>;
    return (
        <li>
            <JobLink id={id} name={job.name} /> <span class="quiet">of {job.user}</span>
            <dl class="pairs">
                <dt>Promised</dt>
                <dd>{job.promised_rate ? rate(job.promised_rate, job.kind) : { pending: "not yet", offered: `offered ${digits(job.offered_rate)}`, none: "asked for none" }[job.promise]}</dd>
                <dt>Measured</dt>
                <dd>{rate(job.rate, job.kind)}{job.kind === "inference" && job.demand_rate > 0 ? `, asked for ${digits(job.demand_rate)}` : ""}</dd>
                <dt>Here since</dt>
                <dd>{time(job.placed_s, now())} ({duration(now() - job.placed_s)})</dd>
                <dt>Its power</dt>
                <dd>{watts(job.watts)}</dd>
            </dl>
        </li>
    );
}

function Controls({ device }) {
    const [cap, setCap] = useState("");
    const path = `/v1/devices/${encodeURIComponent(device.name)}`;
    const tell = async (what, body) => {
        await post(`${path}/${what}`, body);
        await loadNodes();
    };
    const drained = device.state === "drained";
    return (
        <div class="controls">
            <Action run={() => tell(drained ? "resume" : "drain", { reason: "from the dashboard" })} done={drained ? "In use again." : "Drained: nothing more starts here."}>
                {drained ? "Use again" : "Drain"}
            </Action>
            <label>
                Power cap, W
                <input type="number" min="0" value={cap} placeholder={device.cap_watts ?? "none"} onInput={(e) => setCap(e.target.value)} />
            </label>
            <Action run={() => tell("power", { cap_watts: cap === "" ? null : Number(cap), reason: "from the dashboard" })} done="Said.">
                {cap === "" ? "Lift the cap" : "Set"}
            </Action>
        </div>
    );
}

export function Drawer({ device, close }) {
    const { data } = useAsked((signal) => get("/v1/decisions" + query({ device: device.name, limit: 1 }), { signal }), [device.name, device.jobs.map((j) => j.job).join()]);
    const decision = data?.decisions[0];
    return (
        <aside class="drawer" aria-label={`Device ${device.name}`}>
            <div class="head">
                <h2>{device.name}</h2>
                <button type="button" class="plain right" onClick={close} aria-label="Close">
                    ✕
                </button>
            </div>
            <dl class="pairs">
                <dt>Type</dt>
                <dd>{device.type}, {digits(device.memory_gb)} GB</dd>
                <dt>State</dt>
                <dd>{device.state}{device.reason ? `: ${device.reason}` : ""}</dd>
                <dt>Power</dt>
                <dd title={`watts ${device.watts}`}>
                    {watts(device.watts)} of {watts(device.tdp_watts)} <span class="quiet">{device.watts === null ? "nothing told yet" : simulated() ? "simulated, modelled" : device.modelled ? "modelled" : "measured"}</span>
                </dd>
                <dt>Cap</dt>
                <dd>{device.cap_watts ? watts(device.cap_watts) : "none"}</dd>
                <dt>Energy</dt>
                <dd title={`joules ${device.joules}`}>{energy(device.joules)} since the daemon came up</dd>
            </dl>
            <h3>{device.jobs.length ? "Who is here" : "Nobody is here"}</h3>
            <ul class="plainlist">
                {device.jobs.map((j) => (
                    <JobHere key={j.job} id={j.job} name={j.name} />
                ))}
            </ul>
            {decision && (
                <>
                    <h3>The last decision about it</h3>
                    <Decision decision={decision} />
                </>
            )}
            {isOperator() && <Controls device={device} />}
        </aside>
    );
}
