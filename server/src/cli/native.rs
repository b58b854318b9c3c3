//! A node at the other end of the native protocol, as commands talk to it.

use std::time::Duration;

use clap::Args;
use tallyring_client::{Store, StoreConfig, StoreError};

use super::access::AccessArgs;
use super::exit::Failure;

/// How long the store may take to be reached, and then to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where it is.
#[derive(Debug, Args)]
pub(super) struct NativeArgs {
    /// Where the store speaks the native protocol
    #[arg(long, env = "TALLYRING_NATIVE_ADDR", value_name = "HOST:PORT", default_value = "127.0.0.1:4170")]
    native_addr: String,
}

impl NativeArgs {
    /// What a store is opened with, the token and the certificates read.
    ///
    /// # Errors
    /// One line: what is wrong with the token or a certificate.
    pub(super) fn config(&self, access: &AccessArgs, name: &str) -> Result<StoreConfig, Failure> {
        Ok(StoreConfig {
            seeds: vec![self.native_addr.clone()],
            token: access.token.read()?.unwrap_or_default(),
            tls: access.tls.native()?,
            name: name.to_owned(),
            deadline: PATIENCE,
            ..StoreConfig::default()
        })
    }
}

/// Opens a store, of which every connection is up.
///
/// # Errors
/// Nobody answers there.
pub(super) async fn open(config: StoreConfig) -> Result<Store, Failure> {
    let address = config.seeds.join(", ");
    let lacks_tls = config.tls.is_none();
    let store = Store::open(config);
    if store.ready(PATIENCE).await {
        return Ok(store);
    }
    let tls = if lacks_tls { "TLS (--tls-ca)" } else { "its certificate is not from --tls-ca" };
    Err(Failure::unreachable(format!(
        "{address}: no store answers, or it wants another token (--token-from), or {tls}"
    )))
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        match error {
            StoreError::Invalid { .. } => Failure::usage(error),
            _ => Failure::unreachable(error),
        }
    }
}
