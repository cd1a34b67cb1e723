//! The real window on a display of its own, driven through WebDriver by what a person sees: roles, names, text.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fantoccini::elements::Element;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::programs::{Home, PATIENCE, Running, command, mework_desktop};

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
                .args(["-displayfd", "1", "-screen", "0", "1280x860x24", "-nolisten", "tcp"])
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

    /// Titles of the windows on this display, as a taskbar shows them.
    pub fn window_titles(&self) -> Vec<String> {
        let ask = |arguments: &[&str]| {
            let output =
                command("xprop").args(["-display", &self.display]).args(arguments).output().expect("xprop; run `make setup`");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let tree =
            command("xwininfo").args(["-display", &self.display, "-root", "-tree"]).output().expect("xwininfo; run `make setup`");
        String::from_utf8_lossy(&tree.stdout)
            .lines()
            .filter_map(|line| line.split_whitespace().next().filter(|word| word.starts_with("0x")))
            .filter(|id| ask(&["-id", id, "WM_STATE", "_NET_WM_WINDOW_TYPE"]).contains("_NET_WM_WINDOW_TYPE_NORMAL"))
            .filter_map(|id| Some(ask(&["-id", id, "_NET_WM_NAME"]).split('"').nth(1)?.to_owned()))
            .collect()
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

    /// The window, driven.
    pub async fn open_window(&self, home: &Home) -> Window {
        let port = free_port();
        // Not this test's own output: what the web view leaves running for a moment would hold it open.
        let said = home.path().join("window.log");
        let log = std::fs::File::options().create(true).append(true).open(&said).expect("a file for what the window says");
        let driver = Running::start(
            command("WebKitWebDriver")
                .arg(format!("--port={port}"))
                .envs(self.environment(home))
                .env("TAURI_WEBVIEW_AUTOMATION", "true")
                .env_remove("WAYLAND_DISPLAY")
                .stdout(log.try_clone().expect("a second handle"))
                .stderr(log),
        );
        crate::programs::eventually("the driver to listen", || std::net::TcpStream::connect(("127.0.0.1", port)).ok()).await;
        let capabilities = json!({ "webkitgtk:browserOptions": { "binary": mework_desktop(), "args": [] } });
        let Value::Object(capabilities) = capabilities else { unreachable!("an object was written above") };
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .expect("a session with the window");
        let window = Window { client, said, _driver: driver };
        window
            .until("the page to be drawn", "return document.readyState === 'complete' && document.body.innerText.trim() !== ''")
            .await;
        window
    }
}

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

/// The app among the driver's children.
fn child_of(driver: u32) -> Option<libc::pid_t> {
    let children = std::fs::read_to_string(format!("/proc/{driver}/task/{driver}/children")).ok()?;
    children.split_whitespace().find_map(|pid| {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        (program.file_name() == mework_desktop().file_name()).then(|| pid.parse().ok())?
    })
}

/// Ended, though its parent has not asked for its exit status.
fn is_dead(pid: libc::pid_t) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its number").port()
}

/// A driven window. Every step waits for what it needs and says what it saw instead.
pub struct Window {
    client: Client,
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

    /// Clicks as soon as it may be: not while it is disabled or, like a new card's buttons, at rest.
    pub async fn click(&self, role: &str, name: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            // The page may draw itself anew between finding and clicking.
            match self.look_for(None, role, name, true).await.click().await {
                Ok(()) => return,
                Err(problem) if Instant::now() > until => {
                    self.give_up(&format!("{role} {name:?} could not be clicked: {problem}")).await
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(30)).await,
            }
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

    /// A picture of what is on the screen now, not of a frame ago.
    pub async fn picture(&self) -> Vec<u8> {
        self.run_to_end(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(true)))",
            vec![],
        )
        .await;
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

    /// Ends the app as a logout does, so that it keeps what it keeps. The driver's own end gives it no time for that.
    pub async fn end_in_order(self) {
        let app = child_of(self._driver.0.id()).expect("the app, started by the driver");
        // SAFETY: kill has no memory effects; the driver has not waited for its child yet, so the id is the app's.
        unsafe { libc::kill(app, libc::SIGTERM) };
        let gone = || (!std::path::Path::new(&format!("/proc/{app}/cmdline")).exists() || is_dead(app)).then_some(());
        crate::programs::eventually("the app to end", gone).await;
        let _ = self.client.clone().close().await;
    }

    /// Ends the session before the driver: the other way round would leave the app behind.
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
