// cluster_canvas.jsx - thousands of devices on one canvas
//
// The place of each cell is worked out when nodes or width change; a redraw only paints.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { bandsOf, lookOf, nameOf } from "./device.js";
import { count } from "./format.js";
import { isFresh, live } from "./live.js";
import { jobColour, useMedia, useWidth } from "./ui.jsx";

const cell = { w: 13, h: 20, gap: 2 }, frame = 3, between = 8, title = 26;

export function layOut(nodes, width) {
    const cells = [], frames = [], titles = [];
    let y = 0;
    for (const band of bandsOf(nodes)) {
        titles.push({ y: y + 17, text: `${band.type}  ${count(band.devices, "device")}` });
        y += title;
        let x = 0;
        for (const node of band.nodes) {
            const w = node.devices.length * (cell.w + cell.gap) - cell.gap + 2 * frame;
            if (x > 0 && x + w > width) {
                x = 0;
                y += cell.h + 2 * frame + between;
            }
            frames.push({ x, y, w, h: cell.h + 2 * frame, name: node.name });
            node.devices.forEach((d, i) => cells.push({ name: d.name, x: x + frame + i * (cell.w + cell.gap), y: y + frame }));
            x += w + between;
        }
        y += cell.h + 2 * frame + 2 * between;
    }
    return { cells, frames, titles, height: y };
}

function palette() {
    const style = getComputedStyle(document.documentElement);
    return Object.fromEntries(["ground", "text", "quiet", "line", "empty", "bad", "accent"].map((n) => [n, style.getPropertyValue(`--${n}`).trim()]));
}

// As cells that sleep look in the style.
function hatch(g, colours) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const p = tile.getContext("2d");
    p.fillStyle = colours.ground;
    p.fillRect(0, 0, 6, 6);
    p.strokeStyle = colours.line;
    p.lineWidth = 2;
    p.beginPath();
    for (const at of [-6, 0, 6]) {
        p.moveTo(at - 1, 7);
        p.lineTo(at + 7, -1);
    }
    p.stroke();
    return g.createPattern(tile, "repeat");
}

function paintCell(g, c, device, colours) {
    const look = lookOf(device);
    g.fillStyle = look.state === "asleep" ? colours.hatch : colours.empty;
    g.fillRect(c.x, c.y, cell.w, cell.h);
    if (device.jobs.length) {
        const h = Math.round(look.fill * cell.h), w = cell.w / device.jobs.length;
        device.jobs.forEach((j, i) => {
            g.fillStyle = jobColour(j.job);
            g.fillRect(c.x + i * w, c.y + cell.h - h, w, h);
        });
    }
    if (look.state === "drained" || look.state === "failed") {
        g.strokeStyle = look.state === "failed" ? colours.bad : colours.quiet;
        g.lineWidth = 1.5;
        g.beginPath();
        g.moveTo(c.x, c.y + cell.h);
        g.lineTo(c.x + cell.w, c.y);
        g.stroke();
    }
    if (isFresh(device)) {
        g.strokeStyle = colours.accent;
        g.lineWidth = 2;
        g.strokeRect(c.x + 1, c.y + 1, cell.w - 2, cell.h - 2);
    }
    if (look.capped) {
        g.strokeStyle = colours.text;
        g.lineWidth = 1.5;
        g.strokeRect(c.x + 0.75, c.y + 0.75, cell.w - 1.5, cell.h - 1.5);
    }
    if (look.short) {
        g.fillStyle = colours.bad;
        g.beginPath();
        g.moveTo(c.x + cell.w - 7, c.y);
        g.lineTo(c.x + cell.w, c.y);
        g.lineTo(c.x + cell.w, c.y + 7);
        g.fill();
    }
}

function paint(canvas, plan, width, chosen, focus) {
    const ratio = devicePixelRatio || 1, g = canvas.getContext("2d"), colours = palette();
    colours.hatch = hatch(g, colours);
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(plan.height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(plan.height * ratio);
    }
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, plan.height);
    g.fillStyle = colours.text;
    g.font = "600 14px system-ui";
    for (const t of plan.titles) g.fillText(t.text, 0, t.y);
    g.strokeStyle = colours.line;
    g.lineWidth = 1;
    for (const f of plan.frames) g.strokeRect(f.x + 0.5, f.y + 0.5, f.w - 1, f.h - 1);
    for (const c of plan.cells) {
        const device = live.devices.get(c.name);
        if (device) paintCell(g, c, device, colours);
    }
    for (const [name, wide] of [[chosen, 3], [focus, 2]]) {
        const c = plan.cells.find((x) => x.name === name);
        if (!c) continue;
        g.strokeStyle = colours.accent;
        g.lineWidth = wide;
        g.strokeRect(c.x - 2, c.y - 2, cell.w + 4, cell.h + 4);
    }
}

export function ClusterCanvas({ chosen, select }) {
    const canvas = useRef(null);
    const [box, width] = useWidth();
    const [focus, setFocus] = useState(-1);
    const dark = useMedia("(prefers-color-scheme: dark)");
    const shape = live.nodes.map((n) => n.devices.length).join();
    const plan = useMemo(() => layOut(live.nodes, width || 800), [width, shape]);

    useEffect(() => {
        if (width) paint(canvas.current, plan, width, chosen?.name, plan.cells[focus]?.name);
    }, [plan, width, chosen, focus, dark, live.revision]);

    const at = (event) => {
        const r = canvas.current.getBoundingClientRect(), x = event.clientX - r.left, y = event.clientY - r.top;
        return plan.cells.findIndex((c) => x >= c.x - 1 && x <= c.x + cell.w + 1 && y >= c.y && y <= c.y + cell.h);
    };
    const move = (event) => {
        const here = plan.cells[focus];
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        let next = step ? focus + step : -1;
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            const down = event.key === "ArrowDown" ? 1 : -1;
            let best = Infinity;
            plan.cells.forEach((c, i) => {
                const dy = (c.y - (here?.y ?? -1)) * down, far = dy * 3 + Math.abs(c.x - (here?.x ?? 0));
                if (dy > 0 && far < best) [best, next] = [far, i];
            });
        } else if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            if (here) select(live.devices.get(here.name));
            return;
        } else if (!step) return;
        event.preventDefault();
        if (next >= 0 && next < plan.cells.length) setFocus(next);
    };
    const told = live.devices.get(plan.cells[focus]?.name);
    return (
        <div ref={box}>
            <canvas
                ref={canvas}
                class="devices"
                style={{ width: `${width}px`, height: `${plan.height}px` }}
                tabIndex={0}
                role="application"
                aria-label={`${count(live.devices.size, "device")} as cells. Arrow keys choose one, Enter opens it. There is a table of the same.`}
                onClick={(e) => {
                    const i = at(e);
                    setFocus(i);
                    select(live.devices.get(plan.cells[i]?.name));
                }}
                onMouseMove={(e) => {
                    const device = live.devices.get(plan.cells[at(e)]?.name);
                    canvas.current.title = device ? nameOf(device) : "";
                }}
                onKeyDown={move}
            />
            <p class="told" aria-live="polite">
                {told ? nameOf(told) : ""}
            </p>
        </div>
    );
}
