//! Addresses of HTTP servers and package registries (B7, row 10): which may be used, and how one is shown.
//! Decisions rest on the parsed address, never on its text. Checking what a name resolves to is the
//! machine's, where the connection is made.

use url::Url;

use crate::machine::address::is_private_host;

/// Why an address cannot be used. Says nothing of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlProblem {
    #[error("it is not a complete address; it must begin with https:// and name a host")]
    NotAUrl,
    #[error("only https:// and http:// addresses work")]
    Scheme,
    #[error("an address may not hold a user name or password; put a token in `headers`")]
    UserInfo,
    #[error("an address may not end in a #fragment")]
    Fragment,
    #[error("http:// works only for this computer and private networks; use https://")]
    PublicHttp,
}

/// Parses an address and checks it as far as its text tells.
pub fn check_url(text: &str) -> Result<Url, UrlProblem> {
    let url = Url::parse(text).map_err(|_| UrlProblem::NotAUrl)?;
    let host = url.host();
    let plain = match url.scheme() {
        "https" => false,
        "http" => true,
        _ => return Err(UrlProblem::Scheme),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlProblem::UserInfo);
    }
    if url.fragment().is_some() {
        return Err(UrlProblem::Fragment);
    }
    match host {
        None => Err(UrlProblem::NotAUrl),
        Some(host) if plain && !is_private_host(&host) => Err(UrlProblem::PublicHttp),
        Some(_) => Ok(url),
    }
}

/// An address as rows show it: without user info, query and fragment, whether or not it can be parsed (B4).
pub fn shown_url(text: &str) -> String {
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let text = &text[..end];
    let Some((scheme, rest)) = text.split_once(':') else { return text.to_string() };
    // After these two a host begins, however many slashes stand before it, and whichever way they lean.
    let web = scheme.trim().eq_ignore_ascii_case("https") || scheme.trim().eq_ignore_ascii_case("http");
    if !web && !rest.starts_with("//") {
        return text.to_string();
    }
    let host = rest.trim_start_matches(['/', '\\']);
    let slashes = &rest[..rest.len() - host.len()];
    let authority_end = host.find(['/', '\\']).unwrap_or(host.len());
    let user_end = host[..authority_end].rfind('@').map_or(0, |at| at + 1);
    let shown = format!("{scheme}:{slashes}{}", &host[user_end..]);
    // A line break or tab among the slashes means nothing to a parser.
    match Url::parse(&shown) {
        Ok(mut url) if !url.username().is_empty() || url.password().is_some() => {
            let _ = (url.set_username(""), url.set_password(None));
            url.into()
        }
        _ => shown,
    }
}

/// An address's origin, as a review shows it; as written, without secrets, when variables hide it.
pub fn origin(text: &str) -> String {
    match Url::parse(text) {
        Ok(url) if super::expand::is_literal(text) => url.origin().ascii_serialization(),
        _ => {
            let shown = shown_url(text);
            let Some((scheme, rest)) = shown.split_once("://") else { return shown };
            // A `/` inside `${…}` belongs to a default, not to the path.
            let mut inside = false;
            let end = rest.char_indices().find_map(|(i, c)| {
                match c {
                    '{' => inside = true,
                    '}' => inside = false,
                    '/' if !inside => return Some(i),
                    _ => {}
                }
                None
            });
            format!("{scheme}://{}", &rest[..end.unwrap_or(rest.len())])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Security row 10, B7.
    #[test]
    fn b7_which_addresses_may_be_used() {
        use UrlProblem::*;
        let table: &[(&str, Result<(), UrlProblem>)] = &[
            ("https://example.com/mcp", Ok(())),
            ("https://169.254.169.254/", Ok(())),
            ("HTTPS://EXAMPLE.com", Ok(())),
            ("http://example.com/mcp", Err(PublicHttp)),
            ("http://8.8.8.8/", Err(PublicHttp)),
            // Loopback, however it is spelled.
            ("http://127.0.0.1:8080/mcp", Ok(())),
            ("http://127.1/", Ok(())),
            ("http://0x7f.1/", Ok(())),
            ("http://2130706433/", Ok(())),
            ("http://１２７．０．０．１/", Ok(())),
            ("http://[::1]/", Ok(())),
            ("http://[::ffff:127.0.0.1]/", Ok(())),
            ("http://[::ffff:10.0.0.1]/", Ok(())),
            ("http://[::ffff:8.8.8.8]/", Err(PublicHttp)),
            // Private networks and their edges.
            ("http://10.1.2.3/", Ok(())),
            ("http://172.16.0.1/", Ok(())),
            ("http://172.31.255.255/", Ok(())),
            ("http://172.32.0.1/", Err(PublicHttp)),
            ("http://192.168.1.1/", Ok(())),
            ("http://100.64.0.1/", Ok(())),
            ("http://100.127.255.255/", Ok(())),
            ("http://100.128.0.1/", Err(PublicHttp)),
            ("http://[fd00::1]/", Ok(())),
            ("http://[fbff::1]/", Err(PublicHttp)),
            // Never.
            ("http://169.254.169.254/latest/meta-data", Err(PublicHttp)),
            ("http://[::ffff:169.254.169.254]/", Err(PublicHttp)),
            ("http://[fe80::1]/", Err(PublicHttp)),
            ("http://0.0.0.0/", Err(PublicHttp)),
            ("http://0/", Err(PublicHttp)),
            ("http://[::]/", Err(PublicHttp)),
            ("http://[::127.0.0.1]/", Err(PublicHttp)),
            ("http://[64:ff9b::7f00:1]/", Err(PublicHttp)),
            // Names.
            ("http://localhost/", Ok(())),
            ("http://LOCALHOST./", Ok(())),
            ("http://x.localhost:1/", Ok(())),
            ("http://a.b.local/", Ok(())),
            ("http://db.internal/", Ok(())),
            ("http://nas.lan/", Ok(())),
            ("http://nas.lan./", Ok(())),
            ("http://nas.home.arpa/", Ok(())),
            ("http://home.arpa/", Err(PublicHttp)),
            ("http://nas/", Ok(())),
            ("http://nas.lan../", Err(PublicHttp)),
            ("http://localhost.example.com/", Err(PublicHttp)),
            ("http://xlocalhost.com/", Err(PublicHttp)),
            ("http://127.0.0.1.example.com/", Err(PublicHttp)),
            // User info, fragments, schemes, nonsense.
            ("https://me@example.com/", Err(UserInfo)),
            ("https://:secret@example.com/", Err(UserInfo)),
            ("http://localhost@example.com/", Err(UserInfo)),
            ("http://localhost\\@example.com/", Ok(())),
            ("https://example.com/#", Err(Fragment)),
            ("ftp://localhost/", Err(Scheme)),
            ("javascript:alert(1)", Err(Scheme)),
            ("file:///etc/passwd", Err(Scheme)),
            ("example.com/mcp", Err(NotAUrl)),
            ("https://", Err(NotAUrl)),
            ("", Err(NotAUrl)),
        ];
        for (text, expected) in table {
            assert_eq!(check_url(text).map(|_| ()), *expected, "{text}");
        }
        // A backslash ends the host, as browsers have it: what is reached is what was judged.
        assert_eq!(check_url("http://localhost\\@example.com/").unwrap().host_str(), Some("localhost"));
    }

    #[test]
    fn b4_an_address_is_shown_without_user_info_and_query() {
        let table = [
            ("https://example.com/mcp?key=s3cret#x", "https://example.com/mcp"),
            ("https://me:s3cret@example.com/a@b", "https://example.com/a@b"),
            ("https://me:s3c@ret@example.com", "https://example.com"),
            // What a parser takes for an address.
            ("https:/me:s3cret@example.com/a", "https:/example.com/a"),
            ("HTTPS:\\\\me:s3cret@example.com\\a", "HTTPS:\\\\example.com\\a"),
            ("https:me:s3cret@example.com", "https:example.com"),
            ("https:///me:s3cret@${HOST}/a", "https:///${HOST}/a"),
            ("https:/\t/me:s3cret@example.com/a", "https://example.com/a"),
            ("https://${HOST}/x?k=${K}", "https://${HOST}/x"),
            ("${BASE}/mcp?k=1", "${BASE}/mcp"),
            ("no address", "no address"),
            ("mailto:me@example.com", "mailto:me@example.com"),
        ];
        for (text, expected) in table {
            assert_eq!(shown_url(text), expected, "{text}");
        }
    }

    #[test]
    fn origins() {
        let table = [
            ("https://EXAMPLE.com:443/mcp?k=1", "https://example.com"),
            ("http://localhost:8080/mcp", "http://localhost:8080"),
            ("https://${HOST}:8443/x", "https://${HOST}:8443"),
            ("https://${HOST:-a/b}/x", "https://${HOST:-a/b}"),
            ("${BASE}/mcp?k=1", "${BASE}/mcp"),
            ("https://bücher.example/", "https://xn--bcher-kva.example"),
        ];
        for (text, expected) in table {
            assert_eq!(origin(text), expected, "{text}");
        }
    }
}
