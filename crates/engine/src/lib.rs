//! Everything Mework knows and does. It has never heard of Tauri, a terminal or an HTTP server.
//!
//! In reading order, each module may use those before it and none after it (`tests/arrows.rs` checks):
//!
//! - [`error`]: what crosses to a user interface when something fails
//! - [`limits`]: every number of the specification, named
//! - [`text`]: how text from servers and files is made safe to show, and how secrets are scrubbed out of it
//! - [`json`]: JSON as servers write it, read without loss
//! - [`machine`]: where servers run: files, environment, processes
//! - [`config`]: a level, its `mcp.json`, and what each entry means
//! - [`tools`]: the catalogue a conversation's tools form, and what they are called
//! - [`mcp`]: the client side of MCP: one connection, a conversation's pool of them, Test connection
//! - [`approval`]: whether a call asks, and the queue of cards waiting for a person
//! - [`wire`]: the words of the wire: what is kept, told and answered; shapes only
//! - [`store`]: what is kept between runs
//! - [`conversation`]: workspaces, selection, settings, transcript
//! - [`engine`]: one method per thing a person can do
//! - [`api`]: every method of the wire, once; the one router

pub mod api;
pub mod approval;
pub mod config;
pub mod conversation;
pub mod engine;
pub mod error;
pub mod json;
pub mod limits;
pub mod machine;
pub mod mcp;
pub mod store;
pub mod text;
pub mod tools;
pub mod wire;
