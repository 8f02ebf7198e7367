// chart.jsx - lines, bands and stacks over time, by uPlot
//
// series: [{label, colour, fill, dash, values, width}], `bands`: [[high, low, colour]] by number of
// the series from 1.  The colours of axes come from the style's variables.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useMedia, useWidth } from "./ui.jsx";
import { exactTime } from "./format.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const two = (n) => String(n).padStart(2, "0");

// Hours and minutes, the day where it changes, seconds where ticks are closer than a minute.
function clock(u, ticks, axis, space, step) {
    let before = null;
    return ticks.map((tick) => {
        const d = new Date(tick * 1000), day = d.getDate();
        const text = `${two(d.getHours())}:${two(d.getMinutes())}${step < 60 ? ":" + two(d.getSeconds()) : ""}`;
        const shown = before !== null && before !== day ? `${text}\n${d.toLocaleDateString("en-GB", { day: "numeric", month: "short" })}` : text;
        before = day;
        return shown;
    });
}

function options(width, height, series, show, bands, spare) {
    const axis = { stroke: css("--quiet"), grid: { stroke: css("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const plain = { stroke: "transparent", points: { show: false } };
    return {
        width,
        height,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        scales: { y: { range: (u, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05] } },
        axes: spare
            ? [{ show: false }, { show: false }]
            : [{ ...axis, space: 80, size: 34, values: clock }, { ...axis, size: 64, values: (u, ticks) => ticks.map((t) => show(t)) }],
        series: [
            {},
            ...series.map((s) => ({
                ...plain,
                label: s.label,
                stroke: s.colour ?? "transparent",
                fill: s.fill,
                dash: s.dash,
                width: s.width ?? 2,
                points: { show: !!s.points, size: 5 },
                spanGaps: !!s.spanGaps,
            })),
        ],
        bands: (bands ?? []).map(([high, low, fill]) => ({ series: [high, low], fill })),
        padding: spare ? [2, 0, 2, 0] : undefined,
    };
}

export function Chart({ times, series, bands, show, label, height = 200, legend = true, spare = false }) {
    const box = useRef(null), plot = useRef(null);
    const [outer, width] = useWidth();
    const dark = useMedia("(prefers-color-scheme: dark)");
    const [at, setAt] = useState(null);
    const data = [times, ...series.map((s) => s.values)];
    const form = JSON.stringify([series.map((s) => [s.label, s.colour, s.dash]), bands, spare, height]);

    useEffect(() => {
        if (!width) return;
        const o = options(width, height, series, show, bands, spare);
        if (!spare) o.hooks = { setCursor: [(u) => setAt(u.cursor.idx ?? null)] };
        plot.current = new uPlot(o, data, box.current);
        return () => {
            plot.current.destroy();
            plot.current = null;
        };
    }, [width, dark, form]);
    useEffect(() => {
        plot.current?.setData(data);
    });

    const index = at === null || at >= times.length ? times.length - 1 : at;
    return (
        <div ref={outer} class={spare ? "spark" : "chart"}>
            <div ref={box} role="img" aria-label={label} style={{ height: `${height}px` }} />
            {legend && times.length > 0 && (
                <p class="legend">
                    {series.filter((s) => s.label).map((s) => (
                        <span key={s.label}>
                            <i style={{ background: s.swatch ?? s.colour }} />
                            {s.label} <b>{show((s.shown ?? s.values)[index])}</b>
                        </span>
                    ))}
                    <span class="quiet">at {exactTime(times[index])}</span>
                </p>
            )}
        </div>
    );
}

// Values on top of each other, the first at the bottom.
export function stacked(layers) {
    const sums = [];
    let below = layers[0]?.values.map(() => 0) ?? [];
    for (const layer of layers) {
        below = layer.values.map((v, i) => (v ?? 0) + below[i]);
        sums.push({ ...layer, shown: layer.values, values: below, width: 1 });
    }
    return sums;
}
