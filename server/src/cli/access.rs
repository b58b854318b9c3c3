//! How commands come in at a node: as whom, and over which encryption.

mod tls;
mod token;

use clap::Args;

pub(super) use self::tls::TlsArgs;
pub(super) use self::token::TokenArgs;

/// As whom, and whom to trust.
#[derive(Debug, Args)]
pub(super) struct AccessArgs {
    #[command(flatten)]
    pub(super) token: TokenArgs,
    #[command(flatten)]
    pub(super) tls: TlsArgs,
}
