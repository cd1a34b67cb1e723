//! A machine's environment variables, the part of them a server receives (the specification's base list, B11),
//! and what the login shell exports (B47).

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
        self.variables.get(&name).map(OsString::as_os_str).or_else(|| {
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
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(k, v)| (k.as_os_str(), v.as_os_str()))
    }
    fn key(name: &OsStr) -> OsString {
        if cfg!(windows) { name.to_ascii_uppercase() } else { name.to_os_string() }
    }
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
