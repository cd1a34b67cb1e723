//! The real window: that it opens, that nothing gets into or out of its page but the wire, that there is one of it.
#![cfg(target_os = "linux")]

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use mework_tests::engine::program;
use mework_tests::programs::{Canary, Home, PATIENCE, command, eventually, mework, mework_desktop};
use mework_tests::window::Desktop;
use serde_json::{Value, json};

/// Row 8's policy, word for word.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self' ipc: http://ipc.localhost; frame-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; \
    require-trusted-types-for 'script'; trusted-types svelte-trusted-html";

#[tokio::test(flavor = "multi_thread")]
async fn the_window_opens_and_its_page_hears_the_engine() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    let window = desktop.open_window(&home).await;
    assert_eq!(window.title().await, "Mework");
    let reply = window.request("snapshot", json!({})).await;
    assert_eq!(reply["ok"]["app"]["global_file"], json!(home.global_file()));
    assert_eq!(reply["ok"]["app"]["can_pick_folder"], json!(true));
    window.close().await;
    assert!(home.path().join(".local/share/mework").is_dir(), "data lies below MEWORK_HOME");
}

#[tokio::test(flavor = "multi_thread")]
async fn row_8_a_forged_request_is_an_error_and_starts_nothing() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    let window = desktop.open_window(&home).await;
    let touched = home.path().join("touched");
    let forged = [
        ("no.such.method", json!({})),
        ("server.test", json!({ "command": "touch", "args": [touched] })),
        ("server.test", json!({ "server": "x", "command": "touch", "args": [touched] })),
        ("call.start", json!("touch")),
    ];
    for (method, params) in forged {
        let reply = window.request(method, params.clone()).await;
        assert!(reply["error"]["code"].is_string(), "{method} {params} was answered with {reply}");
    }
    // Tauri's own commands, and those of the plugins that the shell itself uses, are not the page's to call.
    for command in [
        "plugin:window|close",
        "plugin:dialog|open",
        "plugin:opener|open_url",
        "plugin:event|listen",
        "plugin:webview|create_webview",
    ] {
        let script = "const [command, done] = arguments; window.__TAURI_INTERNALS__.invoke(command, {}).then(() => done('ran'), (e) => done(String(e)));";
        let answer = window.run_to_end(script, vec![command.into()]).await;
        assert!(
            answer.as_str().unwrap().contains("not allowed") || answer.as_str().unwrap().contains("not found"),
            "{command}: {answer}"
        );
    }
    assert!(!touched.exists());
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn row_8_the_page_runs_no_script_but_its_own_and_reaches_nothing_outside() {
    let (desktop, home, canary) = (Desktop::new(), Home::empty(), Canary::new());
    let window = desktop.open_window(&home).await;

    let script = r#"
        const [elsewhere, done] = arguments;
        const tried = {};
        const attempt = (name, f) => { try { f(); tried[name] = 'did not throw'; } catch (e) { tried[name] = e.name; } };
        window.ran = [];
        const violations = [];
        document.addEventListener('securitypolicyviolation', (e) => violations.push(e.effectiveDirective));
        attempt('markup', () => { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="ran.push(1)">'); });
        attempt('inner', () => { document.createElement('div').innerHTML = '<b>'; });
        attempt('inline', () => { const s = document.createElement('script'); s.textContent = 'ran.push(2)'; document.head.append(s); });
        attempt('source', () => { const s = document.createElement('script'); s.src = elsewhere + 'script'; document.head.append(s); });
        attempt('eval', () => { (0, eval)('ran.push(3)'); });
        attempt('function', () => { new Function('ran.push(4)')(); });
        attempt('policy', () => { trustedTypes.createPolicy('mine', { createHTML: (h) => h }); });
        const image = new Image(); image.src = elsewhere + 'image'; document.body.append(image);
        const frame = document.createElement('iframe'); frame.src = elsewhere + 'frame'; document.body.append(frame);
        const style = document.createElement('link'); style.rel = 'stylesheet'; style.href = elsewhere + 'style'; document.head.append(style);
        const base = document.createElement('base'); base.href = elsewhere; document.head.append(base);
        const form = document.createElement('form'); form.action = elsewhere + 'form'; form.method = 'post'; document.body.append(form); form.submit();
        Promise.allSettled([
            fetch(elsewhere + 'fetch', { mode: 'no-cors' }),
            new Promise((_, no) => { const x = new XMLHttpRequest(); x.onerror = no; x.open('GET', elsewhere + 'xhr'); x.send(); }),
            new Promise((_, no) => { try { new WebSocket(elsewhere.replace('http', 'ws')).onerror = no; } catch (e) { no(e); } }),
        ]).then((all) => setTimeout(() => done({ tried, ran: window.ran, settled: all.map((a) => a.status), base: document.baseURI, violations: [...new Set(violations)].sort() })));
    "#;
    let seen = window.run_to_end(script, vec![canary.url("").into()]).await;
    assert_eq!(seen["ran"], json!([]), "{seen:#}");
    assert_eq!(seen["settled"], json!(["rejected", "rejected", "rejected"]), "{seen:#}");
    assert_eq!(
        seen["tried"],
        json!({ "markup": "TypeError", "inner": "TypeError", "inline": "TypeError", "source": "TypeError", "eval": "EvalError", "function": "EvalError", "policy": "TypeError" }),
        "{seen:#}"
    );
    assert!(seen["base"].as_str().unwrap().starts_with("tauri://localhost"), "{seen:#}");
    for directive in ["base-uri", "connect-src", "form-action", "frame-src", "img-src"] {
        assert!(seen["violations"].as_array().unwrap().contains(&json!(directive)), "{directive}: {seen:#}");
    }
    assert_eq!(canary.visits(), 0);
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn row_8_the_page_cannot_be_led_away() {
    let (desktop, home, canary) = (Desktop::new(), Home::empty(), Canary::new());
    let browser = home.stand_in("xdg-open");
    let window = desktop.open_window(&home).await;
    let here = window.client().current_url().await.unwrap();
    assert_eq!(here.scheme(), "tauri");
    window.run("window.stayed = true", vec![]).await;
    for address in [
        canary.url("away"),
        "tauri://localhost.evil.example/".into(),
        "data:text/html,gone".into(),
        "about:blank".into(),
        "file:///etc/passwd".into(),
    ] {
        window.run("location.href = arguments[0]", vec![address.clone().into()]).await;
        // A request on the wire and back: by then a navigation that was let through would have begun.
        window.request("snapshot", json!({})).await;
        assert_eq!(window.client().current_url().await.unwrap(), here, "{address}");
        assert_eq!(window.run("return window.stayed === true", vec![]).await, json!(true), "{address}");
    }
    // Without a click no window opens at all, neither here nor in the system's browser.
    assert_eq!(window.run("return window.open(arguments[0])", vec![canary.url("popup").into()]).await, Value::Null);
    assert_eq!(window.client().windows().await.unwrap().len(), 1);
    assert_eq!(canary.visits(), 0);
    assert!(!browser.was_started());
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn row_11_a_clicked_link_opens_in_the_systems_browser_and_nothing_else_does() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    let browser = home.stand_in("xdg-open");
    let window = desktop.open_window(&home).await;
    let put = "const a = document.createElement('a'); a.href = arguments[0]; a.target = '_blank'; a.textContent = arguments[1]; a.style.position = 'fixed'; a.style.top = '0'; a.style.left = arguments[2] + 'px'; a.style.zIndex = 99; document.body.append(a);";
    for (n, address) in ["file:///etc/passwd", "smb://host/share", "javascript:window.ran=1", "https://user:secret@example.com/"]
        .iter()
        .enumerate()
    {
        let name = format!("bad {n}");
        window.run(put, vec![(*address).into(), name.clone().into(), (n * 60).into()]).await;
        window.click("link", &name).await;
    }
    window.run(put, vec!["https://example.com/?a=1&b=-c".into(), "good".into(), 300.into()]).await;
    window.click("link", "good").await;
    assert_eq!(browser.arguments().await, ["https://example.com/?a=1&b=-c"]);
    assert_eq!(window.run("return window.ran ?? null", vec![]).await, Value::Null);
    assert_eq!(window.client().windows().await.unwrap().len(), 1);
    window.close().await;
}

/// What runs beside each server is small: the command line's program, without the window's libraries.
#[tokio::test(flavor = "multi_thread")]
async fn servers_are_supervised_by_the_small_program() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    home.declare(json!({ "sample": { "command": mework(), "args": ["sample-server"] } }));
    let window = desktop.open_window(&home).await;
    let conversation = window.request("conversation.create", json!({ "workspaces": [] })).await["ok"]["id"].clone();
    let opened = window.request("conversation.open", json!({ "id": conversation })).await;
    let server = &opened["ok"]["servers"]["sections"][0]["rows"][0]["id"];
    let ticked = json!({ "conversation": conversation, "server": server, "ticked": true });
    assert_eq!(window.request("server.tick", ticked).await, json!({ "ok": {} }));
    let stat = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let parent = |pid: i32| stat(pid).rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse::<i32>().ok());
    // The home is this test's alone, and in the environment of nobody else's sample server.
    let home_of = |pid: i32| std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let own = format!("HOME={}", home.path().display());
    let server = eventually("the server to run", || {
        let mut pids = std::fs::read_dir("/proc").ok()?.filter_map(|p| p.ok()?.file_name().to_str()?.parse::<i32>().ok());
        pids.find(|pid| {
            let started = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            started.ends_with(b"sample-server\0") && home_of(*pid).split(|b| *b == 0).any(|v| v == own.as_bytes())
        })
    })
    .await;
    let supervisor = parent(server).unwrap();
    assert_eq!(std::fs::read_link(format!("/proc/{supervisor}/exe")).unwrap(), mework().canonicalize().unwrap());
    window.end_in_order().await;
    eventually("the server to end", || stat(server).is_empty().then_some(())).await;
}

/// B47: started from a desktop, servers get what the login shell exports; a shell that says nothing is told of.
#[tokio::test(flavor = "multi_thread")]
async fn b47_the_login_shells_environment_reaches_servers() {
    let (desktop, home) = (Desktop::new(), Home::empty().with("SHELL", "/bin/sh"));
    std::fs::write(home.path().join(".profile"), "export ONLY_THE_SHELL_KNOWS=yes\n").unwrap();
    home.declare(json!({ "a": { "command": "true", "args": ["${ONLY_THE_SHELL_KNOWS}"] } }));
    let window = desktop.open_window(&home).await;
    let conversation = window.request("conversation.create", json!({ "workspaces": [] })).await["ok"]["id"].clone();
    let opened = window.request("conversation.open", json!({ "id": conversation })).await;
    let row = &opened["ok"]["servers"]["sections"][0]["rows"][0];
    assert_eq!((&row["available"], &row["reasons"]), (&json!(true), &json!([])));
    assert_eq!(window.request("snapshot", json!({})).await["ok"]["notices"], json!([]));
    window.close().await;

    let mute = Home::empty().with("SHELL", "/bin/false");
    let window = desktop.open_window(&mute).await;
    window.sees("Mework could not ask your login shell for its environment").await;
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b43_a_second_start_brings_the_first_to_the_front_and_ends() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    let window = desktop.open_window(&home).await;
    desktop.hide_window("Mework").await;
    assert_eq!(desktop.window_titles(), [""; 0]);
    let mut second = desktop.start(&home);
    assert!(second.ended(PATIENCE).await.success());
    eventually("the window to be shown again", || (desktop.window_titles() == ["Mework"]).then_some(())).await;
    assert_eq!(window.title().await, "Mework");
    // Another home is another app.
    let other = Home::empty();
    let another = desktop.open_window(&other).await;
    assert_eq!(another.request("snapshot", json!({})).await["ok"]["app"]["global_file"], json!(other.global_file()));
    another.close().await;
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b43_closing_while_a_call_runs_asks_once() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    home.declare(json!({ "waits": { "command": program("fake-server") } }));
    let app = desktop.open_window(&home).await;
    let conversation = app.ok("conversation.create", json!({ "workspaces": [] })).await["id"].clone();
    let server = format!("native:local:{}#waits", home.global_file().display());
    let view = app.ok("server.review", json!({ "conversation": conversation, "server": server })).await;
    app.ok("server.tick", json!({ "conversation": conversation, "server": server, "ticked": true, "digest": view["digest"] }))
        .await;
    app.ok("conversation.set_level", json!({ "id": conversation, "level": "full_access" })).await;
    app.ok("call.start", json!({ "conversation": conversation, "server": server, "tool": "never", "arguments": "{}" })).await;
    app.until_running(1).await;

    desktop.close_window("Mework").await;
    desktop.press_keys("Close Mework?", &["Escape"]).await;
    eventually("the question to go", || (desktop.window_titles() == ["Mework"]).then_some(())).await;
    assert_eq!(app.title().await, "Mework", "it is still there");

    desktop.close_window("Mework").await;
    desktop.press_keys("Close Mework?", &["Return"]).await;
    app.ended().await;
}

/// What was typed about a server stands in no file: the window asks before it goes with it, and not once it is saved.
#[tokio::test(flavor = "multi_thread")]
async fn b43_closing_over_unsaved_text_asks_once() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    home.declare(json!({ "mine": { "command": "true" } }));
    let stays = async || {
        desktop.close_window("Mework").await;
        desktop.press_keys("Close Mework?", &["Escape"]).await;
        eventually("the question to go", || (desktop.window_titles() == ["Mework"]).then_some(())).await;
    };
    let app = desktop.open_window(&home).await;
    app.press("Choose among 1 server").await;
    app.press("mine: Not tested. Details").await;
    app.press("Edit").await;
    app.press("JSON").await;
    app.paste("textbox", "Entry as JSON", r#"{ "command": "false" }"#).await;
    // Asked for after the window was told of the text.
    app.sees("Nothing starts or stops by saving.").await;
    stays().await;
    let typed = "return document.querySelector('textarea[aria-label=\"Entry as JSON\"]').value";
    assert_eq!(app.run(typed, vec![]).await, json!(r#"{ "command": "false" }"#));
    app.press("Save").await;
    app.sees("mine was saved.").await;

    app.press("Add a server").await;
    app.paste("textbox", "Paste a server", "npx -y typed").await;
    app.sees("Nothing starts or stops by saving.").await;
    stays().await;
    desktop.close_window("Mework").await;
    desktop.press_keys("Close Mework?", &["Return"]).await;
    app.ended().await;

    let app = desktop.open_window(&home).await;
    app.press("Choose among 1 server").await;
    app.press("mine: Not tested. Details").await;
    app.press("Edit").await;
    app.press("JSON").await;
    app.paste("textbox", "Entry as JSON", r#"{ "command": "true" }"#).await;
    app.press("Save").await;
    app.sees("mine was saved.").await;
    desktop.close_window("Mework").await;
    app.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b43_closing_with_nothing_running_asks_nothing() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    let app = desktop.open_window(&home).await;
    desktop.close_window("Mework").await;
    app.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b43_size_and_zoom_come_back() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    let window = desktop.open_window(&home).await;
    let width = "return Math.round(innerWidth * devicePixelRatio)";
    let before = window.run(width, vec![]).await;
    window.client().set_window_size(900, 600).await.unwrap();
    window.until("the window to have its new size", "return Math.round(innerWidth * devicePixelRatio) === 900").await;
    assert_ne!(before, json!(900));
    let press = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: arguments[0], ctrlKey: true, bubbles: true }))";
    window.run(press, vec!["+".into()]).await;
    window.run(press, vec!["+".into()]).await;
    window.until("the page to be drawn larger", "return Math.abs(900 / innerWidth - 1.25) < 0.01").await;
    window.end_in_order().await;
    // Row 42: nobody else can read what is kept.
    for kept in ["window.json", "zoom"] {
        let mode = home.path().join(".local/share/mework").join(kept).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{kept}");
    }

    let again = desktop.open_window(&home).await;
    again.until("the same size and zoom", "return Math.abs(900 / innerWidth - 1.25) < 0.01").await;
    again.run(press, vec!["0".into()]).await;
    again.until("the normal size", "return innerWidth === 900").await;
    again.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b43_the_place_comes_back_also_from_a_screen_that_is_gone() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    let window = desktop.open_window(&home).await;
    window.client().set_window_size(700, 500).await.unwrap();
    window.until("the window to have its new size", "return Math.round(innerWidth * devicePixelRatio) === 700").await;
    desktop.move_window("Mework", 150, 90).await;
    window.until("the window to know of it", "return screenX === 150 && screenY === 90").await;
    window.end_in_order().await;
    let again = desktop.open_window(&home).await;
    assert_eq!(desktop.place("Mework").await, [150, 90, 700, 500]);
    again.end_in_order().await;

    // As it is kept when the window stood on a second screen, right of this one, or reached down from one above; both are gone.
    let file = home.path().join(".local/share/mework/window.json");
    for (kept, back) in [([1900, 120], [580, 120]), ([200, -420], [200, 0])] {
        let mut all: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        (all["main"]["x"], all["main"]["y"]) = (kept[0].into(), kept[1].into());
        std::fs::write(&file, all.to_string()).unwrap();
        let again = desktop.open_window(&home).await;
        assert_eq!(desktop.place("Mework").await, [back[0], back[1], 700, 500], "from {kept:?}");
        again.end_in_order().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_in_order_when_asked_to() {
    let (desktop, home) = (Desktop::new(), Home::empty());
    let mut app = desktop.start(&home);
    // Up once its database is there.
    eventually("the app to be up", || home.path().join(".local/share/mework/webview").exists().then_some(())).await;
    app.signal(15);
    assert_eq!(app.ended(PATIENCE).await.code(), Some(0));
}

#[tokio::test]
async fn without_a_display_it_says_what_to_do() {
    let home = Home::empty();
    for (display, expected) in [
        (
            None,
            "mework-desktop: There is no display to open a window on: neither DISPLAY nor WAYLAND_DISPLAY is set. Run `mework serve` to use the same app in a browser.\n",
        ),
        (
            Some(":987"),
            "mework-desktop: The display \":987\" (from DISPLAY) cannot be opened. Start the app inside the desktop's session. Run `mework serve` to use the same app in a browser.\n",
        ),
    ] {
        let mut start = command(mework_desktop());
        start
            .envs(home.environment())
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(display) = display {
            start.env("DISPLAY", display);
        }
        let mut app = mework_tests::programs::Running::start(&mut start);
        assert_eq!(app.ended(Duration::from_secs(10)).await.code(), Some(1));
        let mut words = String::new();
        app.0.stderr.take().unwrap().read_to_string(&mut words).unwrap();
        assert_eq!(words, expected);
    }
    assert!(!home.path().join(".local").exists(), "nothing was opened");
}

/// Rows 8, 43 and 44, on the files that decide: the policy, the one capability, no address scheme of our own, no updater
/// without a signature, a Tauri that has the fixes.
#[test]
fn rows_8_43_44_the_windows_configuration() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let read = |path: &str| -> Value { serde_json::from_slice(&std::fs::read(root.join(path)).unwrap()).unwrap() };
    let config = read("tauri.conf.json");
    assert_eq!(config["app"]["security"], json!({ "capabilities": ["main"], "csp": POLICY }));
    assert_eq!(config.get("plugins"), None, "neither deep links nor an updater are configured");
    assert_eq!(config["app"].get("withGlobalTauri"), None);

    let capabilities: Vec<_> =
        std::fs::read_dir(root.join("src-tauri/capabilities")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(capabilities, ["main.json"]);
    let mut main = read("src-tauri/capabilities/main.json");
    main.as_object_mut().unwrap().remove("description");
    assert_eq!(
        main,
        json!({ "identifier": "main", "windows": ["main"], "local": true, "permissions": ["allow-wire", "allow-zoom", "allow-unsaved"] })
    );

    let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap();
    let version = |name: &str| -> Vec<u64> {
        let entry = lock.split("[[package]]").find(|p| p.contains(&format!("name = \"{name}\"\n"))).unwrap();
        let text = entry.split("version = \"").nth(1).unwrap().split('"').next().unwrap();
        text.split('.').map(|n| n.parse().unwrap()).collect()
    };
    assert!(version("tauri") >= vec![2, 11, 1]);
    assert!(version("open") >= vec![5, 4]);
    for absent in ["tauri-plugin-shell", "tauri-plugin-deep-link", "tauri-plugin-updater"] {
        assert!(!lock.contains(&format!("name = \"{absent}\"\n")), "{absent}");
    }
}
