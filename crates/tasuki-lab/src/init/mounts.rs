//! File systems of `lab-init` and of its hosts.

use super::outcome::{Outcome, while_doing};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::{
    fs::{self, File, OpenOptions},
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt, symlink},
    },
    path::Path,
};
use tasuki_cluster::RailTable;

/// Where `lab-init` keeps the lab's own small file system, in its private view of the mounts. `/mnt` exists
/// on every machine, and `lab-init` needs nothing below it. Hosts see the file system as [`HOST_FOLDER`].
pub const LAB_FOLDER: &str = "/mnt";
/// Where a host sees the lab's own file system.
pub const HOST_FOLDER: &str = "/run/tasuki";

type Options<'a> = Option<&'a str>;

fn mount_new(kind: &str, at: &str, flags: MsFlags, options: Options) -> Outcome<()> {
    mount(Some("tasuki"), at, Some(kind), flags, options)
        .map_err(while_doing(format!("mount {kind} on {at}")))
}

fn bind(from: &str, to: &str) -> Outcome<()> {
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
        .map_err(while_doing(format!("bind {from} to {to}")))
}

/// Keeps later changes of mounts private to this mount namespace.
fn make_private() -> Outcome<()> {
    let flags = MsFlags::MS_PRIVATE | MsFlags::MS_REC;
    mount(None::<&str>, "/", None::<&str>, flags, None::<&str>).map_err(while_doing("make mounts private"))
}

fn plain() -> MsFlags {
    MsFlags::MS_NOSUID | MsFlags::MS_NODEV
}

/// Name of a host's table of rails in the lab's folder. The host sees it as `rails.json`.
fn rails_of(host: &str) -> String {
    format!("rails/{host}.json")
}

/// Name of a host's table of names in the lab's folder.
fn names_of(host: &str) -> String {
    format!("names/{host}")
}

/// Makes the mounts of `lab-init`: a `/proc` of its own, and the lab's folder with the agent, each host's
/// table of names (`names`: host, text) and tables of rails.
pub fn set_up_lab(cluster: &str, names: &[(String, String)], rails: &[RailTable]) -> Outcome<()> {
    make_private()?;
    // The path is read before the old /proc is covered.
    let program = fs::read_link("/proc/self/exe").map_err(while_doing("read /proc/self/exe"))?;
    let mut image = File::open("/proc/self/exe").map_err(while_doing("open /proc/self/exe"))?;
    mount_new("proc", "/proc", plain() | MsFlags::MS_NOEXEC, None)?;
    mount_new("tmpfs", LAB_FOLDER, plain(), Some("mode=755"))?;
    let folder = Path::new(LAB_FOLDER);
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).map_err(while_doing(format!("write {name}")))
    };
    fs::create_dir(folder.join("names")).map_err(while_doing("make names"))?;
    for (host, text) in names {
        write(&names_of(host), text)?;
    }
    write("cluster.toml", cluster)?;
    fs::create_dir(folder.join("rails")).map_err(while_doing("make rails"))?;
    for table in rails {
        write(&rails_of(&table.host), &table.to_json())?;
    }
    // Each host's own table is mounted over this file.
    write("rails.json", "")?;
    fs::create_dir(folder.join("bin")).map_err(while_doing("make bin"))?;
    place_program(&program, &mut image, &folder.join("bin/tasuki"))?;
    symlink("tasuki", folder.join("bin/tasuki-agent")).map_err(while_doing("make the agent's link"))
}

/// Puts the running program where hosts find it: the file itself, or a copy if its path leads to another file
/// by now (because it was rebuilt or upgraded since this process began).
fn place_program(program: &Path, image: &mut File, at: &Path) -> Outcome<()> {
    let fail = || while_doing::<std::io::Error>("place the agent");
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o755).open(at).map_err(fail())?;
    let running = image.metadata().map_err(fail())?;
    let same = |found: fs::Metadata| (found.dev(), found.ino()) == (running.dev(), running.ino());
    if fs::metadata(program).is_ok_and(same) {
        return bind(&program.display().to_string(), &at.display().to_string());
    }
    std::io::copy(image, &mut copy).map(drop).map_err(fail())
}

/// Makes the mounts of a host. To be called in the host's own namespaces.
pub fn set_up_host(name: &str, bare: bool) -> Outcome<()> {
    make_private()?;
    mount_new("proc", "/proc", plain() | MsFlags::MS_NOEXEC, None)?;
    set_up_sys()?;
    mount_new("tmpfs", "/tmp", plain(), Some("mode=1777"))?;
    mount_new("tmpfs", "/dev/shm", plain(), Some("mode=1777"))?;
    mount_new("tmpfs", "/run", plain(), Some("mode=755"))?;
    for name in ["lock", "tasuki"] {
        fs::create_dir(Path::new("/run").join(name)).map_err(while_doing(format!("make /run/{name}")))?;
    }
    let names = if bare { share_parts()? } else { share_all(name)? };
    umount2(LAB_FOLDER, MntFlags::MNT_DETACH).map_err(while_doing("uncover /mnt"))?;
    if Path::new("/etc/hosts").exists() {
        bind(&names, "/etc/hosts")?;
    }
    if Path::new("/dev/mqueue").exists() {
        // Not every kernel has this file system, and Tasuki does not need it.
        let _ = mount_new("mqueue", "/dev/mqueue", plain(), None);
    }
    Ok(())
}

/// Shows a host the whole folder of the lab, and its own table of rails. Returns the host's file of names.
fn share_all(name: &str) -> Outcome<String> {
    bind(LAB_FOLDER, HOST_FOLDER)?;
    bind(&format!("{HOST_FOLDER}/{}", rails_of(name)), RailTable::PATH)?;
    Ok(format!("{HOST_FOLDER}/{}", names_of(name)))
}

/// Gives a bare host a folder of its own with what it needs: the agent and the lab's socket. Returns the
/// host's file of names, which lists no other host.
fn share_parts() -> Outcome<String> {
    let at = |part: &str| format!("{HOST_FOLDER}/{part}");
    fs::create_dir(at("bin")).map_err(while_doing("make bin"))?;
    bind(&format!("{LAB_FOLDER}/bin"), &at("bin"))?;
    for part in ["cluster.toml", "lab.sock"] {
        File::create(at(part)).map_err(while_doing(format!("make {part}")))?;
        bind(&format!("{LAB_FOLDER}/{part}"), &at(part))?;
    }
    let names = "/run/hosts".to_owned();
    fs::write(&names, "127.0.0.1        localhost\n").map_err(while_doing("write hosts"))?;
    Ok(names)
}

/// Mounts `/sys`. It shows the interfaces of the namespace in which it is mounted, so every host needs its
/// own; the control groups below it are the machine's.
fn set_up_sys() -> Outcome<()> {
    let groups = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open("/sys/fs/cgroup");
    mount_new("sysfs", "/sys", plain() | MsFlags::MS_NOEXEC, None)?;
    if let Ok(groups) = groups {
        bind(&format!("/proc/self/fd/{}", groups.as_raw_fd()), "/sys/fs/cgroup")?;
    }
    Ok(())
}
