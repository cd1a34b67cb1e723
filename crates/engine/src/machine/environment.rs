//! A machine's environment variables, the part of them a server receives (the specification's base list, B11),
//! and what the login shell exports (B47).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Environment variables, names compared as the platform does (any case on Windows).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

/// Values are secrets until shown otherwise: only names are printed.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.variables.keys()).finish()
    }
}

impl Environment {
    /// This process's own environment. Only the programs (and the login-shell capture) call this.
    pub fn of_process() -> Self {
        std::env::vars_os().collect()
    }
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        let name = Self::key(name.as_ref());
        self.variables.get(&*name).map(OsString::as_os_str).or_else(|| {
            cfg!(windows).then(|| self.variables.iter().find(|(k, _)| Self::key(k) == name).map(|(_, v)| v.as_os_str())).flatten()
        })
    }
    /// Sets a variable; on Windows it replaces one that differs in case only.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        let name = name.into();
        if cfg!(windows) {
            let key = Self::key(&name);
            self.variables.retain(|k, _| Self::key(k) != key);
        }
        self.variables.insert(name, value.into());
    }
    pub fn remove(&mut self, name: impl AsRef<OsStr>) {
        let key = Self::key(name.as_ref());
        self.variables.retain(|k, _| Self::key(k) != key);
    }
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(k, v)| (k.as_os_str(), v.as_os_str()))
    }
    /// The part of this environment every stdio server gets: the specification's base list, and nothing more (B11, row 14).
    pub fn base(&self) -> Self {
        let names = BASE.iter().chain(if cfg!(target_os = "macos") { BASE_MACOS } else { &[] });
        names.filter_map(|name| Some((*name, self.get(name)?))).collect()
    }
    fn key(name: &OsStr) -> Cow<'_, OsStr> {
        if cfg!(windows) { name.to_ascii_uppercase().into() } else { name.into() }
    }
}

/// What a server gets on every platform, where it is set.
const BASE: &[&str] = &[
    "PATH",
    "PATHEXT",
    "SystemRoot",
    "WINDIR",
    "COMSPEC",
    "TEMP",
    "TMP",
    "TMPDIR",
    "HOME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "ProgramFiles",
    "ProgramFiles(x86)",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
];

/// What a server gets on macOS as well.
const BASE_MACOS: &[&str] = &[
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "SSH_AUTH_SOCK",
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// Prefixes of names that may hold credentials or belong to this product (B11).
const REFUSED: &[&str] =
    &["MEWORK_", "ANTHROPIC_", "OPENAI_", "CLAUDE_", "CODEX_", "AWS_", "AZURE_", "GOOGLE_", "GEMINI_", "DEEPSEEK_"];

/// Whether a variable is never handed to a server by its name alone; compared in any case, blanks around it dropped.
pub fn is_refused(name: &str) -> bool {
    let name = name.trim().to_ascii_uppercase();
    REFUSED.iter().any(|prefix| name.starts_with(prefix))
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(iter: T) -> Self {
        let mut env = Self::default();
        for (k, v) in iter {
            env.set(k, v);
        }
        env
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B11, row 14: the base list and nothing more.
    #[test]
    fn b11_the_base_list() {
        // The specification's own list, so that no name comes or goes unseen.
        const EVERYWHERE: &str = "PATH PATHEXT SystemRoot WINDIR COMSPEC TEMP TMP TMPDIR HOME USERPROFILE APPDATA LOCALAPPDATA \
                                  PROGRAMDATA ProgramFiles ProgramFiles(x86) XDG_CACHE_HOME XDG_CONFIG_HOME";
        const MACOS: &str = "USER LOGNAME SHELL TERM LANG LC_ALL LC_CTYPE SSH_AUTH_SOCK http_proxy https_proxy all_proxy no_proxy \
                             HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY";
        let all = EVERYWHERE.split_whitespace().chain(MACOS.split_whitespace());
        let others = ["OPENAI_API_KEY", "AWS_PROFILE", "LD_PRELOAD", "MEWORK_HOME", "NODE_OPTIONS", "DISPLAY"];
        let env: Environment = all.chain(others).map(|n| (n, n)).collect();
        let base = env.base();
        let names: Vec<&OsStr> = base.iter().map(|(name, _)| name).collect();
        let mut expected: Vec<&str> = EVERYWHERE.split_whitespace().collect();
        if cfg!(target_os = "macos") {
            expected.extend(MACOS.split_whitespace());
        }
        expected.sort_unstable();
        assert_eq!(names, expected);
        assert_eq!(Environment::from_iter([("PATH", "")]).base(), Environment::from_iter([("PATH", "")]));
        assert_eq!(Environment::from_iter([("X", "x")]).base(), Environment::default());
    }
}
