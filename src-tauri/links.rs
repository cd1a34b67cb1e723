//! Which addresses may leave the window, to the system's browser: a link that a person clicked and confirmed, never one
//! that a server or file wants opened (security row 11).

use tauri::Url;

/// The address as the system's browser is given it, or nothing.
pub fn outside(url: &Url) -> Option<&Url> {
    match url.scheme() {
        "http" | "https"
            if url.host_str().is_some_and(|h| !h.is_empty()) && url.username().is_empty() && url.password().is_none() =>
        {
            Some(url)
        }
        "mailto" => Some(url),
        _ => None,
    }
}

/// Whether the page itself may go to this address: only to where the app's own page lives.
pub fn own(url: &Url, development: Option<&Url>) -> bool {
    let origin = |scheme: &str, host: &str| url.scheme() == scheme && url.host_str() == Some(host) && url.port().is_none();
    let app = if cfg!(any(windows, target_os = "android")) {
        origin("http", "tauri.localhost") || origin("https", "tauri.localhost")
    } else {
        origin("tauri", "localhost")
    };
    app || development.is_some_and(|d| d.origin() == url.origin())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn row_11_only_plain_web_and_mail_addresses_leave_the_window() {
        let passed: Vec<&str> = [
            "https://example.com/a?b=c&d",
            "http://localhost:8080/",
            "mailto:someone@example.com",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "smb://host/share",
            "ms-msdt:/id",
            "vbscript:x",
            "tauri://localhost/",
            "https://user:secret@example.com/",
            "https://user@example.com/",
            "x-apple.systempreferences:y",
        ]
        .into_iter()
        .filter(|text| outside(&url(text)).is_some())
        .collect();
        assert_eq!(passed, ["https://example.com/a?b=c&d", "http://localhost:8080/", "mailto:someone@example.com"]);
        assert!(Url::parse("-a Calculator").is_err(), "what is no address never gets here");
    }

    #[cfg(not(windows))]
    #[test]
    fn row_8_the_page_stays_at_the_apps_own_origin() {
        let passed: Vec<&str> = [
            "tauri://localhost/",
            "tauri://localhost/index.html#x",
            "tauri://localhost.evil.example/",
            "tauri://evil.example/",
            "tauri://localhost:81/",
            "http://tauri.localhost/",
            "https://example.com/",
            "http://localhost:1420/",
            "about:blank",
            "data:text/html,x",
            "blob:tauri://localhost/1",
            "file:///",
        ]
        .into_iter()
        .filter(|text| own(&url(text), None))
        .collect();
        assert_eq!(passed, ["tauri://localhost/", "tauri://localhost/index.html#x"]);
        let development = url("http://localhost:1420/");
        assert!(own(&url("http://localhost:1420/x"), Some(&development)));
        assert!(!own(&url("http://localhost:1421/"), Some(&development)));
    }

    #[cfg(windows)]
    #[test]
    fn row_8_the_page_stays_at_the_apps_own_origin() {
        let passed: Vec<&str> = [
            "http://tauri.localhost/",
            "https://tauri.localhost/index.html#x",
            "http://tauri.localhost.evil.example/",
            "http://tauri.evil.example/",
            "http://tauri.localhost:81/",
            "tauri://localhost/",
            "http://localhost/",
            "https://example.com/",
            "about:blank",
            "file:///C:/",
        ]
        .into_iter()
        .filter(|text| own(&url(text), None))
        .collect();
        assert_eq!(passed, ["http://tauri.localhost/", "https://tauri.localhost/index.html#x"]);
    }
}
