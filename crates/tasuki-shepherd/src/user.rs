//! Users, as the system's databases know them.

use crate::{Ids, JobSpec, ShepherdError, User};
use nix::unistd::{Uid, User as Account, getgrouplist};
use std::{borrow::Cow, ffi::CString};

/// The only user who may have the number 0.
const ROOT: &str = "root";

impl User {
    /// The user with this id, with all its groups and no limits.
    ///
    /// # Errors
    /// If there is no such user, or the databases cannot be asked.
    pub fn of_uid(uid: u32) -> Result<Self, ShepherdError> {
        let no_user = |why: String| ShepherdError::User { uid, why };
        let account = Account::from_uid(Uid::from_raw(uid)).map_err(|error| no_user(error.to_string()))?;
        let account = account.ok_or_else(|| no_user("there is no such user on this host".into()))?;
        let ids = ids(&account).map_err(no_user)?;
        Ok(Self { name: account.name, ids: Some(ids), limits: Vec::new() })
    }

    /// With the numbers that this host knows for the name. A user of another host who has root's number here
    /// is not taken for root.
    fn looked_up(&self) -> Result<Self, String> {
        let name = &self.name;
        let account = Account::from_name(name).map_err(|errno| format!("user {name}: {}", errno.desc()))?;
        let account = account.ok_or_else(|| format!("there is no user {name} on this host"))?;
        if account.uid.is_root() && name != ROOT {
            return Err(format!("user {name} has root's number on this host"));
        }
        let ids = ids(&account).map_err(|why| format!("the groups of {name}: {why}"))?;
        Ok(Self { ids: Some(ids), ..self.clone() })
    }
}

fn ids(account: &Account) -> Result<Ids, String> {
    let name = CString::new(account.name.as_bytes()).map_err(|error| error.to_string())?;
    let groups = getgrouplist(&name, account.gid).map_err(|errno| errno.desc().to_owned())?;
    let groups = groups.into_iter().map(|group| group.as_raw()).collect();
    Ok(Ids { uid: account.uid.as_raw(), gid: account.gid.as_raw(), groups })
}

impl JobSpec {
    /// The job with its user's numbers.
    ///
    /// # Errors
    /// Why it has no user on this host.
    pub(crate) fn with_ids(&self) -> Result<Cow<'_, Self>, String> {
        match &self.user {
            Some(user) if user.ids.is_none() => {
                Ok(Cow::Owned(Self { user: Some(user.looked_up()?), ..self.clone() }))
            }
            _ => Ok(Cow::Borrowed(self)),
        }
    }
}
