//! The text of answers. A value of an answer holds no space, so words of messages are joined by `_`.

use crate::shape::{KEY_MAX, NAME_MAX, VALUE_MAX};

/// The highest version of PMI-1 that this server speaks: 1.2 has barriers of groups.
pub const SUBVERSION_MAX: u32 = 2;

/// Answer to the first request: the version that is spoken from now on.
pub fn init(subversion: u32) -> String {
    format!("cmd=response_to_init rc=0 pmi_version=1 pmi_subversion={subversion}\n")
}

/// The longest name, key and value.
pub fn maxes() -> String {
    format!("cmd=maxes rc=0 kvsname_max={NAME_MAX} keylen_max={KEY_MAX} vallen_max={VALUE_MAX}\n")
}

/// The number of the program within the job, of which it has one.
pub fn appnum() -> String {
    "cmd=appnum rc=0 appnum=0\n".into()
}

/// The name of the key space.
pub fn name(name: &str) -> String {
    format!("cmd=my_kvsname rc=0 kvsname={name}\n")
}

/// How many ranks could run.
pub fn universe(size: u32) -> String {
    format!("cmd=universe_size rc=0 size={size}\n")
}

/// A key has its value.
pub fn put() -> String {
    "cmd=put_result rc=0 msg=success\n".into()
}

/// The value of a key.
pub fn get(value: Option<&str>) -> String {
    match value {
        Some(value) => format!("cmd=get_result rc=0 value={value}\n"),
        None => "cmd=get_result rc=-1 msg=key_not_found value=unknown\n".into(),
    }
}

/// A key with its value by number; `None`: there are no more.
pub fn by_index(index: usize, found: Option<(&str, &str)>) -> String {
    match found {
        Some((key, value)) => {
            format!("cmd=getbyidx_results rc=0 nextidx={} key={key} val={value}\n", index.saturating_add(1))
        }
        None => "cmd=getbyidx_results rc=-2 reason=no_more_keyvals\n".into(),
    }
}

/// All ranks have come, to a rank that named its group so.
pub fn barrier(group: Option<&str>) -> String {
    match group {
        Some(group) => format!("cmd=barrier_out rc=0 group={group}\n"),
        None => "cmd=barrier_out rc=0\n".into(),
    }
}

/// The rank may go.
pub fn finalize() -> String {
    "cmd=finalize_ack rc=0\n".into()
}

/// A request that cannot be done.
pub fn failure(answer: &str, why: &str) -> String {
    format!("cmd={answer} rc=-1 msg={}\n", why.replace([' ', '='], "_"))
}
