//! What crosses to a user interface when something fails: a code it may branch on, a message a person
//! can act on, and optional detail. Modules keep their own error enums; this is where they end.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A code exists only if a user interface branches on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The request itself is malformed: unknown method, wrong parameters.
    BadRequest,
    /// The thing named does not exist (any more).
    NotFound,
    /// The file, entry or conversation changed since it was shown; show it again.
    Conflict,
    /// Another process owns the conversation; it is read-only here.
    ReadOnly,
    /// The server may not start before a person has seen and agreed to what would start.
    NeedsConsent,
    /// It was tried and failed; the message says why.
    Failed,
}

/// An error as every user interface receives it. `message` is a whole sentence in plain words: what happened,
/// where, and what to do. It holds no secret and no control characters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub code: ErrorCode,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub detail: Option<String>,
}

impl Error {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None }
    }
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Failed, message)
    }
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;
