// main.jsx - the dashboard: which page for which address
import { render } from "preact";
import { takeTokenFromAddress } from "./api.js";
import { live, start, useLive } from "./live.js";
import { Advice } from "./pages/advice.jsx";
import { Cluster } from "./pages/cluster.jsx";
import { Energy } from "./pages/energy.jsx";
import { Job } from "./pages/job.jsx";
import { Jobs } from "./pages/jobs.jsx";
import { Learning } from "./pages/learning.jsx";
import { Operate } from "./pages/operate.jsx";
import { SignIn } from "./pages/signin.jsx";
import { Submit } from "./pages/submit.jsx";
import { useRoute } from "./route.js";
import "./style.css";
import { TopBar } from "./topbar.jsx";
import { Empty } from "./ui.jsx";

const pages = { cluster: Cluster, jobs: Jobs, learning: Learning, energy: Energy, advice: Advice, submit: Submit, operate: Operate };

function Page({ route }) {
    const [name, id] = route.parts;
    if (name === "jobs" && id) return <Job id={Number(id)} key={id} />;
    const Found = pages[name];
    if (Found) return <Found query={route.query} />;
    return (
        <Empty title="There is no such page.">
            <p>
                The address may be of another version. Begin with the <a href="#/cluster">cluster</a>.
            </p>
        </Empty>
    );
}

function App() {
    const route = useRoute();
    useLive();
    if (live.link === "signed out") return <SignIn />;
    return (
        <>
            <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), document.getElementById("main").focus())}>
                To the content
            </a>
            <TopBar page={route.parts[0]} />
            <main id="main" tabIndex={-1}>
                {live.who ? <Page route={route} /> : <p class="quiet">Asking the daemon …</p>}
            </main>
        </>
    );
}

takeTokenFromAddress();
render(<App />, document.getElementById("app"));
start();
