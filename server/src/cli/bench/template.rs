//! One request, encoded once; only the account's digits change. So the generator spends its time on sockets.

use super::accounts::Accounts;

/// Stands for a digit while the template is made. It occurs in no frame, command or script name of ours.
const PLACEHOLDER: &str = "#";

/// Most digits that a 32-bit account has.
const DIGITS_MAX: usize = 10;

/// The bytes of a request, and where the account's digits stand in them.
#[derive(Clone, Debug)]
pub(super) struct Template {
    bytes: Vec<u8>,
    digits: usize,
    digits_at: Vec<usize>,
}

impl Template {
    /// Makes the template of `encode`, which is called once, with a key.
    pub(super) fn new(accounts: &Accounts, encode: impl FnOnce(&str, &mut Vec<u8>)) -> Template {
        let digits = accounts.digits();
        let placeholder = PLACEHOLDER.repeat(digits);
        let mut bytes = Vec::new();
        encode(&accounts.key(&placeholder), &mut bytes);
        let windows = bytes.windows(digits).enumerate();
        let digits_at = windows.filter(|(_, window)| *window == placeholder.as_bytes()).map(|(at, _)| at).collect();
        Template { bytes, digits, digits_at }
    }

    /// Appends the request of `account`.
    #[inline]
    pub(super) fn write(&self, account: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let spelled = spell(account);
        let spelled = &spelled[DIGITS_MAX - self.digits..];
        for at in &self.digits_at {
            out[start + at..][..self.digits].copy_from_slice(spelled);
        }
    }
}

/// The decimal digits of `number`, with leading zeros.
#[inline]
fn spell(mut number: u32) -> [u8; DIGITS_MAX] {
    let mut digits = [b'0'; DIGITS_MAX];
    for digit in digits.iter_mut().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(account: u32, expect: &str) {
        let accounts = Accounts { prefix: "rl".into(), count: 1_000_000 };
        let template = Template::new(&accounts, |key, out| out.extend_from_slice(format!("{key} {key}").as_bytes()));
        let mut out = b"before ".to_vec();
        template.write(account, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn the_digits_are_filled_in_wherever_the_key_stands() {
        check(123, "before rl:{acct_000123}:route rl:{acct_000123}:route");
        check(999_999, "before rl:{acct_999999}:route rl:{acct_999999}:route");
    }
}
