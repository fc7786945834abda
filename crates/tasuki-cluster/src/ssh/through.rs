//! The hosts of a way through jump hosts.

use super::{
    SshTarget,
    check::{split_port, split_user},
};

/// The jump hosts that a text for `ssh -J` names, in the order in which they are passed. `None`: it names
/// none, as `none` does, or has another form.
pub fn through(jump: &str) -> Option<Vec<SshTarget<'_>>> {
    if jump == "none" {
        return None;
    }
    let host = |text| {
        let (user, place) = split_user(text).ok()?;
        let (address, port) = split_port(place).ok()?;
        Some(SshTarget { address, user, port, jump: None })
    };
    jump.split(',').map(host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jump_hosts_come_in_their_order_with_user_and_port() {
        let named = |text| {
            let hosts = through(text)?.into_iter().map(|host| host.to_string());
            Some(hosts.collect::<Vec<_>>().join(" | "))
        };
        assert_eq!(named("gw").as_deref(), Some("gw"));
        let several = named("me@gw:2222,[::1]:22,fe80::1%e0");
        assert_eq!(several.as_deref(), Some("-p 2222 me@gw | -p 22 ::1 | fe80::1%e0"));
        assert_eq!([named("none"), named("gw:port")], [None, None]);
    }
}
