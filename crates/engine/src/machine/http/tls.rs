//! TLS for HTTP clients: certificates are the platform's, so that a company's own authority works (B48). One
//! cryptography provider, chosen here and not by whatever else is linked in.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};

/// Where a machine's trusted certificates come from.
#[derive(Debug, Clone)]
pub(in crate::machine) enum Roots {
    Platform,
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR` of the machine's environment.
    #[cfg_attr(any(windows, target_vendor = "apple"), allow(dead_code, reason = "the platform's own verifier reads no files"))]
    Paths {
        file: Option<std::path::PathBuf>,
        folder: Option<std::path::PathBuf>,
    },
}

impl Roots {
    pub fn of(environment: &crate::machine::environment::Environment) -> Self {
        let path = |name| environment.get(name).filter(|value| !value.is_empty()).map(std::path::PathBuf::from);
        match (path("SSL_CERT_FILE"), path("SSL_CERT_DIR")) {
            (None, None) => Self::Platform,
            (file, folder) => Self::Paths { file, folder },
        }
    }
}

/// What a client speaks TLS with, or why it cannot.
#[derive(Debug)]
pub(in crate::machine) struct TlsSettings(Result<ClientConfig, String>);

impl TlsSettings {
    /// For `https://`: reads the trusted certificates, which blocks for some milliseconds and takes memory.
    pub fn read(roots: &Roots) -> Self {
        Self(secure(roots))
    }
    /// For `http://`, which needs no certificates; but the client wants a configuration.
    pub fn none() -> Self {
        Self(base().map(|builder| builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()))
    }
    pub fn config(&self) -> Result<ClientConfig, String> {
        self.0.clone()
    }
}

type Builder = rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn base() -> Result<Builder, String> {
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS could not be set up: {error}."))
}

#[cfg(not(any(windows, target_vendor = "apple")))]
fn secure(roots: &Roots) -> Result<ClientConfig, String> {
    let found = match roots {
        Roots::Platform => rustls_native_certs::load_native_certs(),
        Roots::Paths { file, folder } => rustls_native_certs::load_certs_from_paths(file.as_deref(), folder.as_deref()),
    };
    let mut store = rustls::RootCertStore::empty();
    // One that cannot be read is no reason to do without the others.
    store.add_parsable_certificates(found.certs);
    if store.is_empty() {
        return Err(match roots {
            Roots::Platform => {
                "No trusted certificates were found on this system, so https:// cannot be used. Install them (the \
                 package is called ca-certificates), or set SSL_CERT_FILE."
                    .into()
            }
            Roots::Paths { .. } => {
                "SSL_CERT_FILE and SSL_CERT_DIR lead to no certificate that can be read, so https:// cannot be \
                 used. Correct or unset them, and restart Mework."
                    .into()
            }
        });
    }
    Ok(base()?.with_root_certificates(store).with_no_client_auth())
}

#[cfg(any(windows, target_vendor = "apple"))]
fn secure(_: &Roots) -> Result<ClientConfig, String> {
    let verifier =
        rustls_platform_verifier::Verifier::new(provider()).map_err(|error| format!("TLS could not be set up: {error}."))?;
    Ok(base()?.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

/// What is wrong with a server's TLS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsProblem {
    #[error(
        "its certificate is signed by nobody this system trusts. If it is your own or your company's, add its authority to the \
         system's trusted certificates."
    )]
    UnknownIssuer,
    #[error("its certificate has expired. The server needs a new one, or this computer's clock is wrong.")]
    Expired,
    #[error("its certificate is not valid yet. This computer's clock may be wrong.")]
    NotYetValid,
    #[error("its certificate is for another name. Check the host in `url`.")]
    WrongName,
    #[error("its certificate was revoked.")]
    Revoked,
    #[error("it does not speak TLS on this port. Should `url` begin with http://, or name another port?")]
    NotTls,
    #[error("it closed the connection while TLS was being set up. Does it speak https:// on this port?")]
    HungUp,
    #[error("TLS could not be set up: {0}.")]
    Other(String),
}

impl TlsProblem {
    pub(super) fn of(error: &rustls::Error) -> Self {
        use rustls::{CertificateError, Error};
        match error {
            Error::InvalidCertificate(problem) => match problem {
                CertificateError::UnknownIssuer => Self::UnknownIssuer,
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::NotYetValid,
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => Self::WrongName,
                CertificateError::Revoked => Self::Revoked,
                other => Self::Other(other.to_string()),
            },
            Error::InvalidMessage(_) => Self::NotTls,
            other => Self::Other(other.to_string()),
        }
    }
}
