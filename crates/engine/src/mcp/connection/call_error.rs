//! Why a call came to nothing, in words.

use std::time::Duration;

use crate::mcp::Failure;
use crate::mcp::result::ResultError;

/// Why a call came to nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The server answered the call with an error; the connection lives.
    #[error("The server refused the call: {0}")]
    Refused(String),
    #[error("The server did not answer within {} s.", .0.as_secs_f64().ceil())]
    TimedOut(Duration),
    /// Something was answered that was not asked for; this is its id.
    #[error(
        "The server did not answer within {} s. It sent an answer with the id {id} meanwhile, which no request has: a server has to answer \
         with the `id` it was asked with.", .limit.as_secs_f64().ceil()
    )]
    OtherAnswered { limit: Duration, id: String },
    #[error("The call was stopped.")]
    Cancelled,
    #[error(transparent)]
    Result(#[from] ResultError),
    /// The server died or broke the protocol during the call.
    #[error("{}", .0.message)]
    Broken(Failure),
    /// It could not be connected for this call.
    #[error("{}", .0.message)]
    NotConnected(Failure),
}

impl CallError {
    /// What the server left behind, when there is something.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Broken(failure) | Self::NotConnected(failure) => Some(failure),
            Self::Refused(_) | Self::TimedOut(_) | Self::OtherAnswered { .. } | Self::Cancelled | Self::Result(_) => None,
        }
    }
}
