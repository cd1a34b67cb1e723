//! The proxy of a machine's environment (B48): for public hosts only, and not for those in `NO_PROXY`. The process's
//! own environment and the system's settings are not asked.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use crate::machine::address::is_private_host;
use crate::machine::environment::Environment;

/// Which variables name the proxy, the first that is set counts. `http://` only ever goes to private hosts (B7), so
/// `HTTP_PROXY` names none that would be asked.
const VARIABLES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const EXCEPTIONS: [&str; 2] = ["no_proxy", "NO_PROXY"];
const SCHEMES: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];

/// A proxy as it may be shown: its origin and the variable that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Via {
    pub origin: String,
    pub variable: &'static str,
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The proxy {} (from {})", self.origin, self.variable)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{variable} does not name a proxy that can be used. It has to be an address such as http://proxy.example:3128, with http, https or \
     socks5 in front. Correct or unset it, or put the server's host into NO_PROXY, and restart Mework."
)]
pub struct ProxyProblem {
    pub variable: &'static str,
}

#[derive(Debug)]
pub(super) struct Chosen {
    pub proxy: reqwest::Proxy,
    pub via: Via,
}

/// The proxy for an address, if one is to be asked.
pub(super) fn choose(target: &Url, environment: &Environment) -> Result<Option<Chosen>, ProxyProblem> {
    let Some(host) = target.host() else { return Ok(None) };
    if target.scheme() != "https" || is_private_host(&host) {
        return Ok(None);
    }
    let set = |name: &&'static str| environment.get(name).is_some_and(|value| !value.is_empty());
    let Some(variable) = VARIABLES.iter().copied().find(|name| set(name)) else { return Ok(None) };
    let exceptions = EXCEPTIONS.iter().find(|name| set(name)).and_then(|name| environment.get(name)?.to_str());
    if exceptions.is_some_and(|list| is_excepted(&host, target.port_or_known_default(), list)) {
        return Ok(None);
    }
    let problem = ProxyProblem { variable };
    let text = environment.get(variable).and_then(|value| value.to_str()).ok_or(problem.clone())?;
    let text = if text.contains("://") { text.to_string() } else { format!("http://{text}") };
    let url = Url::parse(&text).ok().filter(|url| SCHEMES.contains(&url.scheme()) && url.has_host()).ok_or(problem.clone())?;
    let port = url.port_or_known_default().map(|port| format!(":{port}")).unwrap_or_default();
    let origin = format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default());
    let proxy = reqwest::Proxy::all(url).map_err(|_| problem)?;
    Ok(Some(Chosen { proxy, via: Via { origin, variable } }))
}

/// Whether a `NO_PROXY` list names a host: `*`, a name and everything below it, an address, a network, each with an optional port.
fn is_excepted(host: &Host<&str>, port: Option<u16>, list: &str) -> bool {
    list.split([',', ' ']).map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        if entry == "*" {
            return true;
        }
        let (name, wanted) = split_port(entry);
        if wanted.is_some() && wanted != port {
            return false;
        }
        match host {
            Host::Domain(domain) => {
                let name = name.trim_start_matches("*.").trim_matches('.').to_ascii_lowercase();
                let domain = domain.trim_end_matches('.').to_ascii_lowercase();
                !name.is_empty() && (domain == name || domain.strip_suffix(&name).is_some_and(|front| front.ends_with('.')))
            }
            Host::Ipv4(ip) => covers(name, IpAddr::V4(*ip)),
            Host::Ipv6(ip) => covers(name, IpAddr::V6(*ip)),
        }
    })
}

fn split_port(entry: &str) -> (&str, Option<u16>) {
    if let Some((name, rest)) = entry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (name, rest.strip_prefix(':').and_then(|port| port.parse().ok()));
    }
    match entry.split_once(':') {
        Some((name, port)) if !port.contains(':') => (name, port.parse().ok()),
        _ => (entry, None),
    }
}

/// Whether `10.0.0.0/8`, `fd00::/8` or a single address holds `ip`.
fn covers(network: &str, ip: IpAddr) -> bool {
    let (base, bits) = match network.split_once('/') {
        Some((base, bits)) => (base, bits.parse::<u32>().ok()),
        None => (network, Some(128)),
    };
    let (Ok(base), Some(bits)) = (base.parse::<IpAddr>(), bits) else { return false };
    let (base, ip, width) = match (base.to_canonical(), ip.to_canonical()) {
        (IpAddr::V4(base), IpAddr::V4(ip)) => (u128::from(base.to_bits()) << 96, u128::from(ip.to_bits()) << 96, 32),
        (IpAddr::V6(base), IpAddr::V6(ip)) => (base.to_bits(), ip.to_bits(), 128),
        _ => return false,
    };
    let bits = bits.min(width);
    bits == 0 || (base ^ ip) >> (128 - bits) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows compares names in any case, so there the first that is asked for is named, not the one that was written.
    fn named(variable: &'static str) -> &'static str {
        VARIABLES
            .into_iter()
            .find(|name| if cfg!(windows) { name.eq_ignore_ascii_case(variable) } else { *name == variable })
            .unwrap()
    }

    fn via(target: &str, environment: &[(&str, &str)]) -> Option<(String, &'static str)> {
        let environment = environment.iter().copied().collect();
        choose(&Url::parse(target).unwrap(), &environment).unwrap().map(|chosen| (chosen.via.origin, chosen.via.variable))
    }

    #[test]
    fn b48_public_hosts_only() {
        let all = [("HTTPS_PROXY", "http://me:secret@proxy.example:3128/x?y"), ("HTTP_PROXY", "http://other:1")];
        let expected = Some(("http://proxy.example:3128".to_string(), named("HTTPS_PROXY")));
        assert_eq!(via("https://docs.example.com/mcp", &all), expected);
        for private in [
            "https://localhost/",
            "https://127.0.0.1:1/",
            "https://[::1]/",
            "https://10.1.2.3/",
            "https://nas/",
            "https://a.internal/",
            "http://192.168.0.4/",
        ] {
            assert_eq!(via(private, &all), None, "{private}");
        }
        assert_eq!(via("https://a.example", &[("HTTP_PROXY", "http://other:1")]), None);
        assert_eq!(via("https://a.example", &[]), None);
        assert_eq!(via("https://a.example", &[("HTTPS_PROXY", "")]), None);
        let socks = via("https://a.example", &[("ALL_PROXY", "socks5h://127.0.0.1:1080")]);
        assert_eq!(socks, Some(("socks5h://127.0.0.1:1080".into(), named("ALL_PROXY"))));
        assert_eq!(via("https://a.example", &[("https_proxy", "proxy:8080")]), Some(("http://proxy:8080".into(), "https_proxy")));
    }

    #[test]
    fn b48_exceptions() {
        let with = |target: &str, list: &str| via(target, &[("https_proxy", "p:1"), ("NO_PROXY", list)]).is_none();
        for (target, list, excepted) in [
            ("https://a.example.com", "example.com", true),
            ("https://example.com", ".example.com", true),
            ("https://a.example.com", "other, *.example.com", true),
            ("https://badexample.com", "example.com", false),
            ("https://a.example.com:8443", "example.com:8443", true),
            ("https://a.example.com", "example.com:8443", false),
            ("https://8.8.8.8", "8.8.0.0/16", true),
            ("https://8.9.8.8", "8.8.0.0/16", false),
            ("https://8.8.8.8", "8.8.8.8", true),
            ("https://[2001:db8::1]", "2001:db8::/32", true),
            ("https://[2001:db9::1]", "[2001:db8::1]", false),
            ("https://a.example.com", "*", true),
            ("https://a.example.com", ",", false),
        ] {
            assert_eq!(with(target, list), excepted, "{target} {list}");
        }
    }

    #[test]
    fn a_proxy_that_cannot_be_used_says_which_variable_and_no_value() {
        for bad in ["ftp://proxy.example", "http://", "://secret"] {
            let environment = [("ALL_PROXY", bad)].into_iter().collect();
            let problem = choose(&Url::parse("https://a.example").unwrap(), &environment).unwrap_err();
            assert_eq!(problem, ProxyProblem { variable: named("ALL_PROXY") });
            assert!(!problem.to_string().contains("secret"));
        }
    }
}
