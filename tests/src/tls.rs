//! The certificate of servers in tests, for `localhost` and `docs.example.com`, and the authority that signed it.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

pub fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("certificates").join(name)
}

pub fn acceptor() -> TlsAcceptor {
    let certificates = vec![CertificateDer::from_pem_file(file("localhost.pem")).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(file("localhost.key")).expect("its key");
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .expect("a certificate and its key");
    TlsAcceptor::from(Arc::new(config))
}
