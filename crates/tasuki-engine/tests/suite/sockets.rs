//! What happens to the TCP connections of this process.

/// Shuts down all TCP connections of this process, as a host between that loses its state does; how many
/// sockets.
pub fn break_streams() -> usize {
    // SAFETY: no pointers are passed.
    tcp_sockets().filter(|&fd| unsafe { libc::shutdown(fd, libc::SHUT_RDWR) } == 0).count()
}

/// Has all TCP sockets of this process drop what arrives, as on a cable that is dead and whose NICs have not
/// noticed; how many sockets.
pub fn cut_streams() -> usize {
    // The classic BPF program "return 0" (linux/filter.h): no byte of a segment is kept.
    let mut nothing = libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
    let len = size_of::<libc::sock_fprog>() as libc::socklen_t;
    let filter = (&raw const program).cast();
    let is_cut = |fd: &i32| {
        // SAFETY: program and instruction live through the call, and `len` is the program's length.
        unsafe { libc::setsockopt(*fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, filter, len) == 0 }
    };
    tcp_sockets().filter(is_cut).count()
}

/// The stream sockets of this process.
fn tcp_sockets() -> impl Iterator<Item = i32> {
    std::fs::read_dir("/proc/self/fd").unwrap().flatten().filter_map(|entry| {
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        let fd = entry.file_name().to_str()?.parse::<i32>().ok()?;
        let (mut kind, mut len) = (0i32, size_of::<i32>() as libc::socklen_t);
        // SAFETY: `kind` lives through the call, and `len` is its length.
        let told = unsafe {
            libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, (&raw mut kind).cast(), &mut len)
        };
        let is_socket = target.to_string_lossy().starts_with("socket:");
        (is_socket && told == 0 && kind == libc::SOCK_STREAM).then_some(fd)
    })
}
