//! The real window on a display of its own, driven through WebDriver by what a person sees: roles, names, text.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fantoccini::elements::Element;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::notifications::Notifications;
use crate::programs::{Home, PATIENCE, Running, command, eventually, mework_desktop};

/// A display and a session bus that nothing else uses.
pub struct Desktop {
    display: String,
    bus: String,
    _bus: Running,
    // Last: what still shows something on the display ends with it.
    _display: Running,
}

impl Default for Desktop {
    fn default() -> Self {
        Self::new()
    }
}

impl Desktop {
    pub fn new() -> Self {
        let mut xvfb = Running::start(
            command("Xvfb")
                // Without -noreset the display starts anew when its last program goes, as one window after another does,
                // and whoever connects just then is thrown out: the next window died before it was there.
                .args(["-displayfd", "1", "-noreset", "-screen", "0", "1280x860x24", "-nolisten", "tcp"])
                .stdout(Stdio::piped())
                .stderr(Stdio::null()),
        );
        let display = format!(":{}", first_line(&mut xvfb, "Xvfb"));
        let mut bus = Running::start(
            command("dbus-daemon")
                .args(["--session", "--nofork", "--nopidfile", "--print-address=1"])
                .stdout(Stdio::piped())
                .stderr(Stdio::null()),
        );
        let address = first_line(&mut bus, "dbus-daemon");
        Self { display, bus: address, _bus: bus, _display: xvfb }
    }

    /// Environment of a program in this session.
    pub fn environment(&self, home: &Home) -> Vec<(&'static str, std::ffi::OsString)> {
        let mut environment = home.environment();
        environment.push(("DISPLAY", (&self.display).into()));
        environment.push(("DBUS_SESSION_BUS_ADDRESS", (&self.bus).into()));
        environment.push(("GDK_BACKEND", "x11".into()));
        environment
    }

    /// A notification service in this session; a program started before it finds none.
    pub async fn notifications(&self) -> Notifications {
        Notifications::on(&self.bus).await.expect("a notification service")
    }

    /// Titles of the windows and dialogs on this display, as a taskbar shows them.
    pub fn window_titles(&self) -> Vec<String> {
        self.windows().into_iter().map(|(_, title)| title).collect()
    }

    /// X's numbers of windows and dialogs, and their titles.
    fn windows(&self) -> Vec<(String, String)> {
        let tree = self.x("xwininfo", &["-root", "-tree"]);
        tree.lines()
            .filter_map(|line| line.split_whitespace().next().filter(|word| word.starts_with("0x")))
            .filter_map(|id| {
                let about = self.x("xprop", &["-id", id, "_NET_WM_WINDOW_TYPE", "_NET_WM_NAME", "WM_STATE"]);
                let shown = self.x("xwininfo", &["-id", id]).contains("IsViewable");
                let real = about.contains("_TYPE_NORMAL") || about.contains("_TYPE_DIALOG");
                (shown && real).then(|| Some((id.to_owned(), about.split('"').nth(1)?.to_owned())))?
            })
            .collect()
    }

    fn x(&self, program: &str, arguments: &[&str]) -> String {
        let output = command(program).env("DISPLAY", &self.display).args(arguments).output();
        let output = output.unwrap_or_else(|problem| panic!("{program} could not be started: {problem}. Run `make setup`"));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Presses the close button that a window manager draws on the window with this title.
    pub async fn close_window(&self, title: &str) {
        let id = self.window_number(title).await;
        self.x("python3", &["-c", ASK_TO_CLOSE, &id]);
    }

    /// Where the window with this title is on the display, and its size.
    pub async fn place(&self, title: &str) -> [i32; 4] {
        let about = self.x("xwininfo", &["-id", &self.window_number(title).await]);
        let value = |name: &str| {
            let line = about.lines().find_map(|line| line.trim().strip_prefix(name));
            line.and_then(|rest| rest.trim().parse().ok()).unwrap_or_else(|| panic!("no {name} in {about}"))
        };
        [value("Absolute upper-left X:"), value("Absolute upper-left Y:"), value("Width:"), value("Height:")]
    }

    /// Drags the window with this title somewhere else. No window manager is there: it goes exactly there.
    pub async fn move_window(&self, title: &str, x: i32, y: i32) {
        let id = self.window_number(title).await;
        self.x("xdotool", &["windowmove", "--sync", &id, &x.to_string(), &y.to_string()]);
    }

    /// Takes the window with this title off the screen, as minimising does.
    pub async fn hide_window(&self, title: &str) {
        let id = self.window_number(title).await;
        self.x("xdotool", &["windowunmap", "--sync", &id]);
    }

    /// Turns to something else: no window has the keyboard any more.
    pub fn turn_away(&self) {
        let root = self.x("xwininfo", &["-root"]);
        let id = root.split_whitespace().find(|word| word.starts_with("0x")).expect("the root window's number");
        // Where nothing has the keyboard, the window under the pointer gets the keys.
        self.x("xdotool", &["mousemove", "1279", "859"]);
        self.x("xdotool", &["windowfocus", id]);
    }

    /// Gives the window with this title the keyboard, as a window manager does with the one in front.
    pub async fn turn_to(&self, title: &str) {
        let id = self.window_number(title).await;
        self.x("xdotool", &["windowfocus", "--sync", &id]);
    }

    /// Gives the window with this title the keyboard and presses keys.
    pub async fn press_keys(&self, title: &str, keys: &[&str]) {
        self.turn_to(title).await;
        self.x("xdotool", &[&["key", "--delay", "60"], keys].concat());
    }

    async fn window_number(&self, title: &str) -> String {
        eventually(&format!("a window titled {title:?}"), || {
            self.windows().into_iter().find(|(_, shown)| shown == title).map(|(id, _)| id)
        })
        .await
    }

    /// The program started the way a person starts it, not driven.
    pub fn start(&self, home: &Home) -> Running {
        Running::start(
            command(mework_desktop())
                .envs(self.environment(home))
                .env_remove("WAYLAND_DISPLAY")
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        )
    }

    /// The window, driven. The app is this test's own child, not the driver's: a driver goes on waiting for an app that is
    /// gone, and keeps its exit status to itself.
    pub async fn open_window(&self, home: &Home) -> Window {
        let (host, said) = (own_address(), home.path().join("window.log"));
        let [port, inspector] = [free_port(&host), free_port(&host)];
        let inspector = format!("{host}:{inspector}");
        // Not this test's own output: what the web view leaves running for a moment would hold it open.
        let log = || std::fs::File::options().create(true).append(true).open(&said).expect("a file for what the window says");
        let app = Running::start(
            command(mework_desktop())
                .envs(self.environment(home))
                .env("TAURI_WEBVIEW_AUTOMATION", "true")
                .env("WEBKIT_INSPECTOR_SERVER", &inspector)
                .env_remove("WAYLAND_DISPLAY")
                .stdout(log())
                .stderr(log()),
        );
        let driver = Running::start(
            command("WebKitWebDriver")
                .args([format!("--host={host}"), format!("--port={port}"), format!("--target={inspector}")])
                .envs(self.environment(home))
                .stdout(log())
                .stderr(log()),
        );
        let mut opening = Opening { app, driver, said };
        opening.until("the driver to listen", async || std::net::TcpStream::connect((host.as_str(), port)).ok()).await;
        let url = format!("http://{host}:{port}");
        let builder = ClientBuilder::new(HttpConnector::new());
        let mut connecting = std::pin::pin!(builder.connect(&url));
        let connected = opening
            .until("the driver to begin a session with the app", async || {
                tokio::time::timeout(Duration::from_millis(20), &mut connecting).await.ok()
            })
            .await;
        let client = match connected {
            Ok(client) => client,
            Err(problem) => opening.failed(&format!("the driver could not begin a session: {problem}")),
        };
        let Opening { app, driver, said } = opening;
        let window = Window { client, app, said, _driver: driver };
        window
            .until("the page to be drawn", "return document.readyState === 'complete' && document.body.innerText.trim() !== ''")
            .await;
        window
    }
}

/// An app and its driver on their way to a session.
struct Opening {
    app: Running,
    driver: Running,
    said: PathBuf,
}

impl Opening {
    /// Waits for one step, while both are there.
    async fn until<T>(&mut self, what: &str, mut step: impl AsyncFnMut() -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(done) = step().await {
                return done;
            }
            let ended = |process: &mut Running| process.0.try_wait().expect("a process's state").is_some();
            if ended(&mut self.app) || ended(&mut self.driver) || Instant::now() > until {
                self.failed(&format!("waited for {what}"));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Fails with all there is to know about why.
    fn failed(&mut self, problem: &str) -> ! {
        let state = |process: &mut Running| match process.0.try_wait() {
            Ok(Some(status)) => format!("has ended ({status})"),
            Ok(None) => "still runs".to_owned(),
            Err(problem) => format!("is in a state nobody knows ({problem})"),
        };
        let (app, driver) = (state(&mut self.app), state(&mut self.driver));
        let said = std::fs::read_to_string(&self.said).unwrap_or_default();
        panic!("No window: {problem}. The app {app}, its driver {driver}. They said:\n{said}");
    }
}

/// Sends WM_DELETE_WINDOW, as window managers do. Debian 12's xdotool cannot.
const ASK_TO_CLOSE: &str = r#"
import ctypes, sys
x = ctypes.CDLL("libX11.so.6")
x.XOpenDisplay.restype = ctypes.c_void_p
x.XInternAtom.restype = ctypes.c_ulong
display = ctypes.c_void_p(x.XOpenDisplay(None))
class Message(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("sent", ctypes.c_int), ("display", ctypes.c_void_p),
                ("window", ctypes.c_ulong), ("kind", ctypes.c_ulong), ("format", ctypes.c_int), ("data", ctypes.c_long * 5),
                ("rest", ctypes.c_long * 24)]
window = int(sys.argv[1], 16)
atom = lambda name: x.XInternAtom(display, name, 0)
message = Message(33, 0, 1, display, window, atom(b"WM_PROTOCOLS"), 32, (ctypes.c_long * 5)(atom(b"WM_DELETE_WINDOW"), 0, 0, 0, 0))
x.XSendEvent(display, ctypes.c_ulong(window), 0, ctypes.c_long(0), ctypes.byref(message))
x.XFlush(display)
x.XCloseDisplay(display)
"#;

fn first_line(process: &mut Running, name: &str) -> String {
    let stdout = process.0.stdout.take().expect("a piped stdout");
    let mut reader = BufReader::new(stdout);
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    assert!(!line.trim().is_empty(), "{name} did not start");
    // Whatever else it prints is read, so that it never blocks.
    std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
    line.trim().to_owned()
}

/// Ended, though nobody has asked for its exit status yet.
fn is_dead(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

/// An address of this computer that no other test uses, so that nobody takes a port between looking for a free one and
/// listening on it: the whole of 127.0.0.0/8 is here.
fn own_address() -> String {
    static WINDOWS: AtomicU32 = AtomicU32::new(0);
    // Numbers of processes have 22 bits.
    let [_, a, b, c] = (std::process::id() << 2 | WINDOWS.fetch_add(1, Ordering::Relaxed) & 3).to_be_bytes();
    format!("127.{a}.{b}.{c}")
}

fn free_port(host: &str) -> u16 {
    let listener = std::net::TcpListener::bind((host, 0)).expect("a port");
    listener.local_addr().expect("its number").port()
}

/// A driven window. Every step waits for what it needs and says what it saw instead.
pub struct Window {
    client: Client,
    app: Running,
    said: PathBuf,
    _driver: Running,
}

/// Finds visible elements by role and accessible name, near enough to what a screen reader does: `aria-label`, `label`
/// elements, text, `title`, `placeholder`. Text is compared with white space folded; one `*` stands for anything.
const FIND: &str = r#"
const [role, wanted, within, usable] = arguments;
const fold = (t) => (t ?? '').replace(/\s+/g, ' ').trim();
const implicit = { BUTTON: 'button', A: 'link', TEXTAREA: 'textbox', SELECT: 'combobox', H1: 'heading', H2: 'heading', H3: 'heading', DIALOG: 'dialog', NAV: 'navigation', SUMMARY: 'button', LI: 'listitem', ARTICLE: 'article' };
const roleOf = (e) => e.getAttribute('role') ?? (e.tagName === 'INPUT' ? ({ checkbox: 'checkbox', radio: 'radio', search: 'searchbox' }[e.type] ?? 'textbox') : implicit[e.tagName]);
const nameOf = (e) => {
  const by = e.getAttribute('aria-labelledby');
  if (by) return fold(by.split(/\s+/).map((i) => document.getElementById(i)?.innerText ?? '').join(' '));
  const label = e.getAttribute('aria-label');
  if (label) return fold(label);
  if (e.labels?.length) return fold([...e.labels].map((l) => l.innerText).join(' '));
  return fold(e.innerText) || fold(e.title) || fold(e.placeholder);
};
const parts = wanted.split('*').map(fold), stars = wanted.includes('*');
const matches = (name) => stars ? name.startsWith(parts[0]) && name.endsWith(parts.at(-1)) : name === fold(wanted);
const root = within ?? document;
for (const e of root.querySelectorAll('*')) {
  if (roleOf(e) !== role || !matches(nameOf(e))) continue;
  const box = e.getBoundingClientRect();
  const style = getComputedStyle(e);
  if (style.visibility === 'hidden' || style.display === 'none' || (box.width === 0 && box.height === 0)) continue;
  if (usable && (e.disabled || e.getAttribute('aria-disabled') === 'true')) continue;
  return e;
}
return null;
"#;

/// Brings an element into view, and says what is wrong with clicking it now: it moves, or something lies over it.
const STANDS_STILL: &str = r#"
const [element, done] = arguments;
element.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
const place = () => { const { x, y, width, height } = element.getBoundingClientRect(); return [x, y, width, height]; };
const before = place();
requestAnimationFrame(() => requestAnimationFrame(() => {
  const now = place();
  if (before.some((value, n) => value !== now[n])) return done('it moves');
  const [x, y, width, height] = now;
  const at = document.elementFromPoint(x + width / 2, y + height / 2);
  const hit = at && (element.contains(at) || at.contains(element) || [...(element.labels ?? [])].some((label) => label.contains(at)));
  done(hit ? null : 'it lies under ' + (at?.outerHTML.slice(0, 120) ?? 'nothing'));
}));
"#;

impl Window {
    /// Waits for a visible element with that role and name.
    pub async fn find(&self, role: &str, name: &str) -> Element {
        self.find_in(None, role, name).await
    }

    pub async fn find_in(&self, within: Option<&Element>, role: &str, name: &str) -> Element {
        self.look_for(within, role, name, false).await
    }

    async fn look_for(&self, within: Option<&Element>, role: &str, name: &str, usable: bool) -> Element {
        let within = within.map_or(Value::Null, |e| serde_json::to_value(e).expect("an element"));
        let until = Instant::now() + PATIENCE;
        loop {
            let asked = vec![role.into(), name.into(), within.clone(), usable.into()];
            if let Ok(found) = self.client.execute(FIND, asked).await
                && !found.is_null()
            {
                let reference = found.as_object().and_then(|o| o.values().next()).and_then(Value::as_str).expect("an element");
                return Element::from_element_id(self.client.clone(), reference.to_owned().into());
            }
            if Instant::now() > until {
                let usable = if usable { " that may be pressed" } else { "" };
                self.give_up(&format!("there is no {role} named {name:?}{usable}")).await;
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    pub async fn press(&self, button: &str) {
        self.click("button", button).await;
    }

    /// Clicks as soon as it may be: not while it is disabled or, like a new card's buttons, at rest, nor while what is drawn
    /// above it still moves it.
    pub async fn click(&self, role: &str, name: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let element = self.look_for(None, role, name, true).await;
            let reference = serde_json::to_value(&element).expect("an element");
            let problem = match self.client.execute_async(STANDS_STILL, vec![reference]).await {
                // The page may draw itself anew between finding and clicking.
                Ok(Value::Null) => match element.click().await {
                    Ok(()) => return,
                    Err(problem) => problem.to_string(),
                },
                Ok(problem) => problem.to_string(),
                Err(problem) => problem.to_string(),
            };
            if Instant::now() > until {
                self.give_up(&format!("{role} {name:?} could not be clicked: {problem}")).await;
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Puts text into a field, in place of what it held.
    pub async fn write(&self, role: &str, name: &str, text: &str) {
        let field = self.find(role, name).await;
        field.clear().await.expect("a field that can be cleared");
        field.send_keys(text).await.expect("a field that can be written in");
    }

    /// The same as one step, as pasting does it.
    pub async fn paste(&self, role: &str, name: &str, text: &str) {
        let field = serde_json::to_value(self.find(role, name).await).expect("an element");
        let script = "const [field, text] = arguments; field.focus(); field.select(); return document.execCommand('insertText', false, text)";
        assert_eq!(self.run(script, vec![field, text.into()]).await, Value::Bool(true), "{name} takes a paste");
    }

    /// Waits until the page shows this text somewhere.
    pub async fn sees(&self, text: &str) {
        let script = "return document.body.innerText.replace(/\\s+/g, ' ').includes(arguments[0])";
        self.until_with(&format!("the text {text:?}"), script, vec![text.into()]).await;
    }

    pub async fn does_not_see(&self, text: &str) {
        let script = "return !document.body.innerText.replace(/\\s+/g, ' ').includes(arguments[0])";
        self.until_with(&format!("the text {text:?} to be gone"), script, vec![text.into()]).await;
    }

    /// Waits until a script returns true.
    pub async fn until(&self, what: &str, script: &str) {
        self.until_with(what, script, vec![]).await;
    }

    pub async fn until_with(&self, what: &str, script: &str, arguments: Vec<Value>) {
        let until = Instant::now() + PATIENCE;
        loop {
            let answer = self.client.execute(script, arguments.clone()).await;
            if matches!(answer, Ok(Value::Bool(true))) {
                return;
            }
            if Instant::now() > until {
                self.give_up(&format!("waited for {what}, last answer: {answer:?}")).await;
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Runs a script in the page, as its developer's console would.
    pub async fn run(&self, script: &str, arguments: Vec<Value>) -> Value {
        self.client.execute(script, arguments).await.expect("a script that runs")
    }

    /// Runs a script that calls its last argument when it is done.
    pub async fn run_to_end(&self, script: &str, arguments: Vec<Value>) -> Value {
        self.client.execute_async(script, arguments).await.expect("a script that ends")
    }

    /// One request on the wire, exactly as the page makes it.
    pub async fn request(&self, method: &str, params: Value) -> Value {
        let script = "const [method, params, done] = arguments;
            window.__TAURI_INTERNALS__.invoke('rpc', { request: { id: crypto.randomUUID(), method, params } })
                .then((ok) => done({ ok }), (error) => done({ error }));";
        self.run_to_end(script, vec![method.into(), params]).await
    }

    pub async fn text(&self) -> String {
        self.run("return document.body.innerText", vec![]).await.as_str().unwrap_or_default().to_owned()
    }

    pub async fn title(&self) -> String {
        self.client.title().await.expect("a title")
    }

    /// What does not fit on the page as it is now; nothing may be in it.
    pub async fn misfits(&self) -> Vec<String> {
        let script = format!("{}\nreturn misfits()", include_str!("../ui/fits.js").replace("export function", "function"));
        serde_json::from_value(self.run(&script, vec![]).await).expect("a list of words")
    }

    /// Waits until what changed last is drawn.
    pub async fn frames(&self) {
        let script = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(true)))";
        self.run_to_end(script, vec![]).await;
    }

    /// A picture of what is on the screen now, not of a frame ago.
    pub async fn picture(&self) -> Vec<u8> {
        self.frames().await;
        self.client.screenshot().await.expect("a picture")
    }

    /// Keeps a picture under this name when `make shots` asks for pictures.
    pub async fn shot(&self, name: &str) {
        if let Some(folder) = std::env::var_os("MEWORK_SHOTS") {
            let picture = self.picture().await;
            std::fs::write(PathBuf::from(folder).join(format!("{name}.png")), picture).expect("a picture that can be written");
        }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The app's process; WebKit's are its children.
    pub fn app(&self) -> libc::pid_t {
        self.app.0.id() as libc::pid_t
    }

    /// Ends the app as a logout does, so that it keeps what it keeps. [`Window::close`] gives it no time for that.
    pub async fn end_in_order(self) {
        self.app.signal(libc::SIGTERM);
        self.ended().await;
    }

    /// Waits until the app has ended by itself.
    pub async fn ended(&self) {
        eventually("the app to end", || is_dead(self.app.0.id()).then_some(())).await;
        let _ = self.client.clone().close().await;
    }

    /// A request that must work; its reply.
    pub async fn ok(&self, method: &str, params: Value) -> Value {
        let mut reply = self.request(method, params).await;
        assert!(reply["error"].is_null(), "{method} was answered with {reply}");
        reply["ok"].take()
    }

    /// Waits until so many calls run.
    pub async fn until_running(&self, calls: u64) {
        let until = Instant::now() + PATIENCE;
        loop {
            let snapshot = self.ok("snapshot", json!({})).await;
            let running: u64 =
                snapshot["conversations"].as_array().into_iter().flatten().filter_map(|c| c["running_calls"].as_u64()).sum();
            if running == calls {
                return;
            }
            assert!(Instant::now() < until, "{running} calls run, not {calls}: {snapshot:#}");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Ends the session, and with it the app and its driver.
    pub async fn close(self) {
        self.client.clone().close().await.expect("the session to end");
    }

    /// Fails with what the page shows, and leaves a picture where `make test` says.
    async fn give_up(&self, problem: &str) -> ! {
        let text = self.client.execute("return document.body.innerText", vec![]).await.unwrap_or_default();
        let mut shown = String::new();
        if let (Some(folder), Ok(picture)) = (std::env::var_os("MEWORK_FAILURES"), self.client.screenshot().await) {
            let file = PathBuf::from(folder)
                .join(format!("{}.png", std::thread::current().name().unwrap_or("window").replace("::", "-")));
            if std::fs::write(&file, picture).is_ok() {
                shown = format!(" (picture: {})", file.display());
            }
        }
        let _ = self.client.clone().close().await;
        let said = std::fs::read_to_string(&self.said).unwrap_or_default();
        panic!("{problem}{shown}. The page shows:\n{}\nThe window said:\n{said}", text.as_str().unwrap_or_default());
    }
}
