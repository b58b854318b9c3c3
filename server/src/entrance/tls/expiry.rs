//! When a certificate ends: the one field of it that whoever looks after a node has to know, read where it lies.
//!
//! X.509 in DER (RFC 5280, 4.1): `Certificate { tbsCertificate { [0] version, serial, signature, issuer, validity { notBefore,
//! notAfter }, … } … }`. Everything else about certificates is rustls' business.

/// Tags of the fields on the way there.
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xA0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The fields of the certificate in front of its validity, behind the version, which may be left out.
const BEFORE_VALIDITY: usize = 3;

/// The last second of a certificate, since the Unix epoch; `None` if it is not where it should be.
pub(super) fn not_after_s(der: &[u8]) -> Option<u64> {
    let (certificate, _) = expect(SEQUENCE, der)?;
    let (mut fields, _) = expect(SEQUENCE, certificate)?;
    if let Some((_, behind)) = expect(VERSION, fields) {
        fields = behind;
    }
    for _ in 0..BEFORE_VALIDITY {
        (_, _, fields) = field(fields)?;
    }
    let (validity, _) = expect(SEQUENCE, fields)?;
    let (_, _, not_after) = field(validity)?;
    match field(not_after)? {
        (UTC_TIME, text, _) => utc_time(text),
        (GENERALIZED_TIME, text, _) => time(number(text.get(..4)?)?, text.get(4..)?),
        _ => None,
    }
}

/// The content of the first field and what is behind it, if it has that tag.
fn expect(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    field(bytes).filter(|(found, ..)| *found == tag).map(|(_, content, behind)| (content, behind))
}

/// Tag and content of the first field, and what is behind it.
fn field(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, len], rest) = bytes.split_first_chunk()?;
    let (len, rest) = match len {
        0..=0x7F => (usize::from(len), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(len - 0x80))?;
            (digits.iter().fold(0, |len, digit| len << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, behind) = rest.split_at_checked(len)?;
    Some((tag, content, behind))
}

/// `YYMMDDHHMMSSZ`; years from 50 on are of the last century.
fn utc_time(text: &[u8]) -> Option<u64> {
    let year = number(text.get(..2)?)?;
    time(if year < 50 { 2_000 + year } else { 1_900 + year }, text.get(2..)?)
}

/// Seconds since the Unix epoch of `MMDDHHMMSSZ` in that year; before it, 0.
fn time(year: u64, text: &[u8]) -> Option<u64> {
    let (&[.., b'Z'], 11) = (text, text.len()) else { return None };
    let part = |at: usize| number(&text[at..at + 2]);
    let (month, day, hour, minute, second) = (part(0)?, part(2)?, part(4)?, part(6)?, part(8)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_since_epoch(year, month, day);
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Days of the Gregorian calendar, counted in years that begin in March, so that the leap day is the last.
fn days_since_epoch(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.saturating_sub(1), month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    days.saturating_sub(719_468) // 1 March of the year 0 to 1 January 1970
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_a_time_are_read() {
        let check = |read: Option<u64>, expect: Option<u64>| assert_eq!(read, expect);
        check(utc_time(b"700101000000Z"), Some(0));
        check(utc_time(b"491231235959Z"), Some(2_524_607_999));
        check(utc_time(b"240229120000Z"), Some(1_709_208_000));
        check(time(2050, b"0101000000Z"), Some(2_524_608_000));
        check(time(9999, b"1231235959Z"), Some(253_402_300_799));
        check(utc_time(b"241301000000Z"), None);
        check(utc_time(b"2401010000Z"), None);
        check(utc_time(b"24010100000+Z"), None);
        check(time(2024, b""), None);
    }

    #[test]
    fn the_end_of_a_certificate_is_found_in_it() {
        let key = rcgen::KeyPair::generate().unwrap();
        for (year, expect_s) in [(2031, 1_940_889_600), (2060, 2_856_124_800)] {
            let mut params = rcgen::CertificateParams::new(vec!["node.internal".to_owned()]).unwrap();
            params.not_after = rcgen::date_time_ymd(year, 7, 4);
            let certificate = params.self_signed(&key).unwrap();
            assert_eq!(not_after_s(certificate.der()), Some(expect_s), "{year}");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_end() {
        let key = rcgen::KeyPair::generate().unwrap();
        let whole = rcgen::CertificateParams::new(vec!["n".to_owned()]).unwrap().self_signed(&key).unwrap();
        let whole: &[u8] = whole.der();
        for len in 0..whole.len() {
            assert_eq!(not_after_s(&whole[..len]), None, "{len}");
        }
        assert_eq!(not_after_s(&[0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF, 0]), None);
    }
}
