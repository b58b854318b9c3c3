//! A node at the other end of the native protocol, as commands talk to it.

mod diagnosis;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rustls::ClientConfig;
use tallyring_client::{Store, StoreConfig, StoreError};

use self::diagnosis::Caller;
use super::access::AccessArgs;
use super::exit::Failure;
use super::trouble::Trouble;

/// How long the store may take to be reached, and then to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where it is.
#[derive(Debug, Args)]
pub(super) struct NativeArgs {
    /// Where the store speaks the native protocol
    #[arg(long, env = "TALLYRING_NATIVE_ADDR", value_name = "HOST:PORT", default_value = "127.0.0.1:4170")]
    native_addr: String,
}

/// A store that is to be opened.
#[derive(Debug)]
pub(super) struct Native {
    config: StoreConfig,
    address: String,
    /// The same trust as the store's, to find out what is the matter.
    tls: Option<Arc<ClientConfig>>,
    shows: bool,
}

impl NativeArgs {
    /// The store, with the token and the certificates read.
    ///
    /// # Errors
    /// One line: what is wrong with the token or a certificate.
    pub(super) fn native(&self, access: &AccessArgs, name: &str) -> Result<Native, Failure> {
        let config = StoreConfig {
            seeds: vec![self.native_addr.clone()],
            token: access.token.read()?.unwrap_or_default(),
            tls: access.tls.native()?,
            name: name.to_owned(),
            deadline: PATIENCE,
            ..StoreConfig::default()
        };
        let (address, tls) = (self.native_addr.clone(), access.tls.config()?.map(Arc::new));
        Ok(Native { config, address, tls, shows: access.tls.shows() })
    }
}

impl Native {
    /// Opens it, with every connection up.
    ///
    /// # Errors
    /// What is the matter with it.
    pub(super) async fn open(self) -> Result<Store, Failure> {
        let (token, name) = (self.config.token.clone(), self.config.name.clone());
        let store = Store::open(self.config);
        if store.ready(PATIENCE).await {
            return Ok(store);
        }
        let caller = Caller { token: &token, name: &name, tls: self.tls, shows: self.shows };
        let cause = diagnosis::diagnose(&self.address, &caller).await;
        Err(Trouble { address: self.address, flag: "native-addr", cause }.into())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        match error {
            // A reset takes an admin; who is none is refused, whatever the numbers.
            StoreError::Invalid { field, reason } if field == "kind" => Failure::invalid(reason),
            StoreError::Invalid { .. } => Failure::usage(error),
            _ => Failure::unreachable(error),
        }
    }
}
