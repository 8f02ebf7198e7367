// table.jsx - tables: of few rows, and of many, of which only those in sight are elements
//
// Of the latter, rows are of one height.  A column has key, title, width (a grid track), show(row), and may
// be `wide`: left out on a phone.
import { useEffect, useRef, useState } from "preact/hooks";
import { useNarrow } from "./ui.jsx";

const rowHeight = 34, spare = 8;

// A table of few rows: head has [title, true where it is not a number].
export function Table({ label, head, bounded, children }) {
    return (
        <div class={bounded ? "scroll bounded" : "scroll"} tabIndex={0} role="region" aria-label={label}>
            <table>
                <thead>
                    <tr>{head.map(([title, left]) => <th scope="col" key={title} class={left ? "" : "number"}>{title}</th>)}</tr>
                </thead>
                <tbody>{children}</tbody>
            </table>
        </div>
    );
}

export function VirtualTable({ rows, columns, label, rowKey, marked, fresh, onEnd }) {
    const box = useRef(null);
    const narrow = useNarrow();
    const [view, set] = useState({ top: 0, height: 600 });
    const shown = narrow ? columns.filter((c) => !c.wide) : columns;
    const tracks = { gridTemplateColumns: shown.map((c) => c.width).join(" ") };

    useEffect(() => {
        const element = box.current;
        let asked = 0;
        const look = () => {
            asked = 0;
            set({ top: element.scrollTop, height: element.clientHeight });
        };
        const soon = () => (asked ||= requestAnimationFrame(look));
        const observer = new ResizeObserver(soon);
        element.addEventListener("scroll", soon, { passive: true });
        observer.observe(element);
        look();
        return () => {
            element.removeEventListener("scroll", soon);
            observer.disconnect();
            cancelAnimationFrame(asked);
        };
    }, []);

    const first = Math.max(0, Math.floor(view.top / rowHeight) - spare);
    const end = Math.min(rows.length, Math.ceil((view.top + view.height) / rowHeight) + spare);
    useEffect(() => {
        if (onEnd && end >= rows.length - 200) onEnd();
    }, [end, rows.length]);

    return (
        <div class="vtable" role="table" aria-label={label} aria-rowcount={rows.length + 1}>
            <div class="vrow vhead" role="row" style={tracks}>
                {shown.map((c) => (
                    <div role="columnheader" class={c.class} key={c.key}>
                        {c.title}
                    </div>
                ))}
            </div>
            <div class="vbody" role="rowgroup" ref={box} tabIndex={0} aria-label={`${label}: rows`}>
                <div role="presentation" class="vspace" style={{ height: `${rows.length * rowHeight}px` }}>
                    {rows.slice(first, end).map((row, i) => (
                        <div
                            role="row"
                            class={`vrow ${marked?.(row) ? "marked" : ""} ${fresh?.(row) ? "fresh" : ""}`}
                            aria-rowindex={first + i + 2}
                            key={rowKey(row)}
                            style={{ ...tracks, top: `${(first + i) * rowHeight}px` }}
                        >
                            {shown.map((c) => (
                                <div role="cell" class={c.class} key={c.key}>
                                    {c.show(row)}
                                </div>
                            ))}
                        </div>
                    ))}
                </div>
            </div>
        </div>
    );
}
