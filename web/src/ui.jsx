// ui.jsx - small parts that pages share
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { address } from "./route.js";
import { simulated } from "./live.js";

// Okabe and Ito's palette, which the colour-blind tell apart; the shape is a second mark.
const colours = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7"];
const shapes = ["●", "▲", "■", "◆", "★"];

export const jobColour = (id) => colours[id % colours.length];
export const jobShape = (id) => shapes[Math.floor(id / colours.length) % shapes.length];
export const seriesColour = (i) => colours[[4, 0, 2, 6, 1, 5, 3][i % 7]];

export function JobMark({ id }) {
    return (
        <span class="mark" style={{ color: jobColour(id) }} aria-hidden="true">
            {jobShape(id)}
        </span>
    );
}

export function JobLink({ id, name }) {
    return (
        <a href={address(`/jobs/${id}`)}>
            <JobMark id={id} /> {id}
            {name ? ` ${name}` : ""}
        </a>
    );
}

// A figure with its exact value and where it comes from on hover.
export function Figure({ label, children, exact, source, tone }) {
    return (
        <div class={`figure ${tone ?? ""}`} title={[exact, source].filter(Boolean).join(" · ")}>
            <span class="label">{label}</span>
            <span class="value">{children}</span>
            {source && <span class="source">{source}</span>}
        </div>
    );
}

export function Simulated({ what = "simulated" }) {
    return simulated() ? <span class="tag">{what}</span> : null;
}

export function Empty({ title, children }) {
    return (
        <div class="empty">
            <p class="empty-title">{title}</p>
            {children}
        </div>
    );
}

export function Trouble({ error }) {
    return error ? (
        <p class="trouble" role="alert">
            {error.message ?? String(error)}
        </p>
    ) : null;
}

export function useTitle(title) {
    useEffect(() => {
        document.title = title ? `${title} · Corgi` : "Corgi";
    }, [title]);
}

// Ask for something, again every `every` ms and when `keys` change.
export function useAsked(ask, keys, every) {
    const [state, set] = useState({ data: null, error: null });
    const [again, repeat] = useReducer((n) => n + 1, 0);
    useEffect(() => {
        let gone = false, timer;
        const abort = new AbortController();
        const turn = async () => {
            if (!document.hidden)
                try {
                    const data = await ask(abort.signal);
                    if (!gone) set({ data, error: null });
                } catch (error) {
                    if (!gone && error.name !== "AbortError") set((old) => ({ data: error.status ? null : old.data, error }));
                }
            if (!gone && every) timer = setTimeout(turn, every);
        };
        turn();
        return () => {
            gone = true;
            abort.abort();
            clearTimeout(timer);
        };
    }, [...keys, again]);
    return { ...state, again: repeat };
}

export function useMedia(text) {
    const [matches, set] = useState(() => matchMedia(text).matches);
    useEffect(() => {
        const media = matchMedia(text), changed = () => set(media.matches);
        media.addEventListener("change", changed);
        return () => media.removeEventListener("change", changed);
    }, [text]);
    return matches;
}

export const useNarrow = () => useMedia("(max-width: 760px)");

export function useWidth() {
    const ref = useRef(null);
    const [width, set] = useState(0);
    useEffect(() => {
        const observer = new ResizeObserver(([entry]) => set(Math.floor(entry.contentRect.width)));
        observer.observe(ref.current);
        return () => observer.disconnect();
    }, []);
    return [ref, width];
}

// A button that does something at the daemon and says what came of it.
export function Action({ children, run, done, disabled, title, tone }) {
    const [state, set] = useState({});
    const click = async () => {
        set({ busy: true });
        try {
            await run();
            set({ said: done });
        } catch (error) {
            set({ error });
        }
    };
    return (
        <span class="action">
            <button type="button" class={tone} disabled={disabled || state.busy} title={title} onClick={click}>
                {children}
            </button>
            {state.said && <span role="status">{state.said}</span>}
            <Trouble error={state.error} />
        </span>
    );
}
