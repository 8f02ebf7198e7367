// route.js - the address holds the whole view: #/jobs?state=running&user=anna
import { useEffect, useState } from "preact/hooks";

function read() {
    const [path, search] = (location.hash.slice(1) || "/cluster").split("?");
    return { path, parts: path.split("/").slice(1).map(decodeURIComponent), query: Object.fromEntries(new URLSearchParams(search)) };
}

export function useRoute() {
    const [route, set] = useState(read);
    useEffect(() => {
        const changed = () => set(read());
        addEventListener("hashchange", changed);
        return () => removeEventListener("hashchange", changed);
    }, []);
    return route;
}

export function address(path, query = {}) {
    const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
    return `#${path}${kept.length ? "?" + new URLSearchParams(kept) : ""}`;
}

export function go(path, query) {
    location.hash = address(path, query);
}

// Change members of the query; no entry in the browser's history.
export function setQuery(changes) {
    const { path, query } = read();
    history.replaceState(null, "", address(path, { ...query, ...changes }));
    dispatchEvent(new HashChangeEvent("hashchange"));
}
