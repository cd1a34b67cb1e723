//! Requests to a running server and their answers, each of which may also be that the server is gone.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, CustomResult, ErrorData, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::Value;
use tokio::time::sleep;

use super::far::Far;
use super::framer::Ended;
use super::handshake::LAST_WORDS;
use super::wire::Wire;
use super::{Failure, Stage};

/// What a request needs of a running server.
#[derive(Clone)]
pub(super) struct Link {
    pub rmcp: rmcp::service::Peer<RoleClient>,
    pub wire: Arc<Wire>,
    pub far: Far,
}

impl Link {
    /// The error says why the stream ended, if it did.
    pub async fn send(&self, request: ClientRequest) -> Result<RequestHandle<RoleClient>, Option<Ended>> {
        tokio::select! {
            sent = self.rmcp.send_request_with_option(request, PeerRequestOptions::no_options()) => sent.map_err(|_| self.wire.ended()),
            ended = self.wire.until_ended() => Err(Some(ended)),
        }
    }

    /// The answer's text, or the server's error, or why there is none.
    pub async fn answer(&self, sent: &mut RequestHandle<RoleClient>) -> Result<Result<String, ErrorData>, Option<Ended>> {
        let dead = async {
            self.far.until_gone().await;
            // The answer may have been written just before.
            sleep(LAST_WORDS).await;
        };
        let answer = tokio::select! {
            biased;
            answer = &mut sent.rx => answer,
            ended = self.wire.until_ended() => return Err(Some(ended)),
            () = dead => return Err(self.wire.ended()),
        };
        match answer {
            Ok(Ok(ServerResult::CustomResult(CustomResult(Value::String(text))))) => Ok(Ok(text)),
            // Only handshakes are given a type by the transport, and they are over.
            Ok(Ok(_)) => Ok(Err(ErrorData::internal_error("the answer belongs to another request", None))),
            Ok(Err(ServiceError::McpError(error))) => Ok(Err(error)),
            Ok(Err(_)) | Err(_) => Err(self.wire.ended()),
        }
    }

    pub async fn failure(&self, stage: Stage, ended: Option<Ended>) -> Failure {
        self.far.broken(stage, ended, &self.wire).await
    }
}
