// cluster.jsx - generations as bands, nodes as frames, devices as cells
//
// Up to 300 devices each cell is an element; more are drawn on a canvas, with the same keys
// and, for those who do not see it, as a table.
import { useEffect, useRef } from "preact/hooks";
import { ClusterCanvas } from "../cluster_canvas.jsx";
import { bandsOf, lookOf, nameOf, nodeWatts } from "../device.js";
import { Drawer } from "../drawer.jsx";
import { count, watts } from "../format.js";
import { isFresh, live, useLive } from "../live.js";
import { setQuery } from "../route.js";
import { VirtualTable } from "../table.jsx";
import { Empty, JobLink, jobColour, jobShape, Simulated, useTitle } from "../ui.jsx";

const elementsAtMost = 300;

const select = (device) => setQuery({ device: device?.name });

function Cell({ device, selected, reachable }) {
    const look = lookOf(device);
    const classes = ["cell", look.state, look.capped && "capped", look.short && "short", isFresh(device) && "fresh", selected && "selected"];
    return (
        <button
            type="button"
            class={classes.filter(Boolean).join(" ")}
            data-device={device.name}
            aria-label={nameOf(device)}
            aria-pressed={selected}
            title={nameOf(device)}
            tabIndex={reachable ? 0 : -1}
            onClick={() => select(selected ? null : device)}
        >
            <span class="fill" style={{ height: `${Math.round(look.fill * 100)}%` }}>
                {device.jobs.map((j) => (
                    <i key={j.job} style={{ background: jobColour(j.job) }} />
                ))}
            </span>
            <span class="shapes">{device.jobs.map((j) => jobShape(j.job)).join("")}</span>
            <span class="word">{look.word}</span>
        </button>
    );
}

// One stop of the tab key; arrows go on from there.
function useArrows() {
    const box = useRef(null);
    const onKeyDown = (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: "down", ArrowUp: "up" }[event.key];
        if (!step) return;
        const cells = [...box.current.querySelectorAll(".cell")];
        const at = cells.indexOf(document.activeElement);
        if (at < 0) return;
        event.preventDefault();
        let next = cells[at + step];
        if (typeof step === "string") {
            const here = cells[at].getBoundingClientRect();
            const far = (c) => {
                const r = c.getBoundingClientRect();
                const dy = step === "down" ? r.top - here.top : here.top - r.top;
                return dy < 8 ? Infinity : dy * 3 + Math.abs(r.left - here.left);
            };
            next = cells.reduce((best, c) => (far(c) < far(best) ? c : best), cells[at]);
        }
        next?.focus();
    };
    return { ref: box, onKeyDown };
}

function Bands({ chosen }) {
    const keys = useArrows();
    let first = true;
    const reach = chosen && live.devices.has(chosen) ? chosen : null;
    return (
        <div {...keys}>
            {bandsOf(live.nodes).map((band) => (
                <section class="band" key={band.type} aria-label={`${band.type}, ${count(band.devices, "device")}`}>
                    <h2>
                        {band.type}{" "}
                        <span class="quiet">
                            {count(band.devices, "device")}, {band.busy} busy, {watts(band.watts)}
                        </span>
                    </h2>
                    <div class="nodes">
                        {band.nodes.map((node) => (
                            <div class={`node ${node.state}`} key={node.name}>
                                <h3>
                                    {node.name} <span class="quiet">{node.drained ? "drained" : node.state === "awake" ? watts(nodeWatts(node)) : node.state}</span>
                                </h3>
                                <div class="cells">
                                    {node.devices.map((d) => {
                                        const reachable = reach ? d.name === reach : first;
                                        first = false;
                                        return <Cell key={d.name} device={d} selected={d.name === chosen} reachable={reachable} />;
                                    })}
                                </div>
                            </div>
                        ))}
                    </div>
                </section>
            ))}
        </div>
    );
}

const columns = [
    { key: "name", title: "Device", width: "minmax(7rem, 1fr)", show: (d) => <a href={`#/cluster?device=${encodeURIComponent(d.name)}&view=table`}>{d.name}</a> },
    { key: "type", title: "Type", width: "minmax(5rem, .7fr)", wide: true, show: (d) => d.type },
    { key: "state", title: "State", width: "5rem", show: (d) => d.state },
    { key: "watts", title: "Power", width: "6rem", class: "number", show: (d) => watts(d.watts) },
    { key: "cap", title: "Cap", width: "6rem", class: "number", wide: true, show: (d) => (d.cap_watts ? watts(d.cap_watts) : "none") },
    { key: "jobs", title: "Jobs", width: "minmax(6rem, 2fr)", show: (d) => d.jobs.map((j) => <JobLink key={j.job} id={j.job} name={j.name} />) },
];

function Legend() {
    return (
        <p class="legend quiet">
            <span>Height: power as a share of the data sheet's</span>
            <span>Colour and shape: the job</span>
            <span><i class="key capped" /> power cap</span>
            <span><i class="key asleep" /> asleep</span>
            <span><i class="key drained" /> drained</span>
            <span><i class="key short" /> a promise does not hold</span>
        </p>
    );
}

export function Cluster({ query }) {
    useLive();
    useTitle("Cluster");
    const chosen = live.devices.get(query.device);
    const table = query.view === "table";
    const many = live.devices.size > elementsAtMost;
    useEffect(() => {
        const key = (event) => event.key === "Escape" && select(null);
        addEventListener("keydown", key);
        return () => removeEventListener("keydown", key);
    }, []);
    if (!live.devices.size)
        return (
            <Empty title="This cluster has no devices.">
                <p>The daemon's config names them; without one it simulates a mixed cluster.</p>
            </Empty>
        );
    return (
        <div class={chosen ? "with-drawer" : ""}>
            <div class="page">
                <div class="head">
                    <h1>Cluster</h1>
                    <span class="quiet">
                        {count(live.nodes.length, "node")}, {count(live.devices.size, "device")}
                    </span>
                    <Simulated what="simulated; power is modelled" />
                    <button type="button" class="plain right" aria-pressed={table} onClick={() => setQuery({ view: table ? "" : "table" })}>
                        {table ? "Show as cells" : "Show as a table"}
                    </button>
                </div>
                {table ? (
                    <VirtualTable label="Devices" rows={[...live.devices.values()]} columns={columns} rowKey={(d) => d.name} marked={(d) => d === chosen} />
                ) : many ? (
                    <ClusterCanvas chosen={chosen} select={select} />
                ) : (
                    <Bands chosen={query.device} />
                )}
                {!table && <Legend />}
                {!live.summary?.jobs.running && (
                    <Empty title="Nothing runs yet.">
                        <p>
                            Submit a job <a href="#/submit">here</a>, or with <code>corgi submit --family CNN-CIFAR --model conv --batch 256 --min-rate 5 -- python train.py</code>
                        </p>
                    </Empty>
                )}
            </div>
            {chosen && <Drawer device={chosen} close={() => select(null)} />}
        </div>
    );
}
