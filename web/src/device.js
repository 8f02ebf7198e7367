// device.js - what a device looks like, the same for cells, canvas and screen readers
import { watts } from "./format.js";
import { fallsShort, live } from "./live.js";

const words = { drained: "drained", failed: "failed", asleep: "asleep" };

export function lookOf(device) {
    return {
        state: device.state,
        fill: device.jobs.length ? Math.max(0.12, Math.min(1, (device.watts ?? 0) / (device.tdp_watts || 1))) : 0,
        capped: device.cap_watts > 0,
        short: device.jobs.some((j) => fallsShort(live.jobs.get(j.job))),
        word: device.jobs.length ? "" : (words[device.state] ?? ""),
    };
}

export function nameOf(device) {
    const parts = [`${device.name}, ${device.type}, ${device.state}`];
    if (device.jobs.length) parts.push(`jobs ${device.jobs.map((j) => `${j.job}${j.name ? ` ${j.name}` : ""}`).join(" and ")}`);
    if (device.watts !== null) parts.push(`${watts(device.watts)} of ${watts(device.tdp_watts)}${device.modelled ? ", modelled" : ""}`);
    if (device.cap_watts > 0) parts.push(`capped at ${watts(device.cap_watts)}`);
    if (lookOf(device).short) parts.push("a promise does not hold");
    return parts.join("; ");
}

// As the daemon reckons it, with what devices told since.
export function nodeWatts(node) {
    if (node.state !== "awake") return node.watts;
    return node.devices.reduce((sum, d) => sum + (d.watts ?? 0), node.host_watts);
}

// Nodes by the type of their first device, in the order the daemon lists them.
export function bandsOf(nodes) {
    const bands = new Map();
    for (const node of nodes) {
        const type = node.devices[0]?.type ?? "no GPU";
        if (!bands.has(type)) bands.set(type, { type, nodes: [], devices: 0, busy: 0, watts: 0 });
        const band = bands.get(type);
        band.nodes.push(node);
        for (const device of node.devices) {
            band.devices++;
            band.busy += device.jobs.length > 0;
            band.watts += device.watts ?? 0;
        }
    }
    return [...bands.values()];
}
