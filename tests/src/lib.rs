//! What end-to-end tests share: a home folder of their own, the programs under test, waiting for things to happen.

pub mod engine;
