//! The hand-written definitions against the installed headers: sizes, offsets of all fields and values of all
//! constants, as a C compiler sees them.

use std::fmt::Write as _;
use std::mem::offset_of;
use std::process::Command;

use tasuki_fi::abi::*;

struct Layout {
    c: &'static str,
    size: usize,
    fields: Vec<(&'static str, usize)>,
}

/// The layout of a structure: `field` where C and Rust have one name for it, `rust = "c"` where they do not.
macro_rules! layout {
    ($c:literal, $rust:ty, [$($field:ident $(= $name:literal)?),* $(,)?]) => {
        Layout {
            c: $c,
            size: size_of::<$rust>(),
            fields: vec![$((layout!(@name $field $($name)?), offset_of!($rust, $field))),*],
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
}

macro_rules! constants {
    ($($name:ident),* $(,)?) => { vec![$((stringify!($name), $name as i64 as u64)),*] };
}

fn endpoint_attributes() -> Vec<Layout> {
    vec![
        layout!(
            "struct fi_tx_attr",
            TxAttr,
            [
                caps,
                mode,
                op_flags,
                msg_order,
                comp_order,
                inject_size,
                size,
                iov_limit,
                rma_iov_limit,
                tclass,
            ]
        ),
        layout!(
            "struct fi_rx_attr",
            RxAttr,
            [caps, mode, op_flags, msg_order, comp_order, total_buffered_recv, size, iov_limit,]
        ),
        layout!(
            "struct fi_ep_attr",
            EpAttr,
            [
                ep_type = "type",
                protocol,
                protocol_version,
                max_msg_size,
                msg_prefix_size,
                max_order_raw_size,
                max_order_war_size,
                max_order_waw_size,
                mem_tag_format,
                tx_ctx_cnt,
                rx_ctx_cnt,
                auth_key_size,
                auth_key,
            ]
        ),
    ]
}

fn domain_attributes() -> Vec<Layout> {
    vec![
        layout!(
            "struct fi_domain_attr",
            DomainAttr,
            [
                domain,
                name,
                threading,
                control_progress,
                data_progress,
                resource_mgmt,
                av_type,
                mr_mode,
                mr_key_size,
                cq_data_size,
                cq_cnt,
                ep_cnt,
                tx_ctx_cnt,
                rx_ctx_cnt,
                max_ep_tx_ctx,
                max_ep_rx_ctx,
                max_ep_stx_ctx,
                max_ep_srx_ctx,
                cntr_cnt,
                mr_iov_limit,
                caps,
                mode,
                auth_key,
                auth_key_size,
                max_err_data,
                mr_cnt,
                tclass,
            ]
        ),
        layout!("struct fi_fabric_attr", FabricAttr, [fabric, name, prov_name, prov_version, api_version]),
    ]
}

fn infos() -> Vec<Layout> {
    vec![
        layout!(
            "struct fi_info",
            Info,
            [
                next,
                caps,
                mode,
                addr_format,
                src_addrlen,
                dest_addrlen,
                src_addr,
                dest_addr,
                handle,
                tx_attr,
                rx_attr,
                ep_attr,
                domain_attr,
                fabric_attr,
                nic,
            ]
        ),
        layout!(
            "struct fi_provider",
            Provider,
            [version, fi_version, context, name, getinfo, fabric, cleanup]
        ),
    ]
}

fn object_attributes() -> Vec<Layout> {
    vec![
        layout!(
            "struct fi_mr_attr",
            MrAttr,
            [
                mr_iov,
                iov_count,
                access,
                offset,
                requested_key,
                context,
                auth_key_size,
                auth_key,
                iface,
                device,
            ]
        ),
        layout!(
            "struct fi_av_attr",
            AvAttr,
            [av_type = "type", rx_ctx_bits, count, ep_per_node, name, map_addr, flags]
        ),
        layout!(
            "struct fi_cq_attr",
            CqAttr,
            [size, flags, format, wait_obj, signaling_vector, wait_cond, wait_set]
        ),
        layout!("struct fi_cntr_attr", CntrAttr, [events, wait_obj, wait_set, flags]),
        layout!("struct fi_eq_attr", EqAttr, [size, flags, wait_obj, signaling_vector, wait_set]),
    ]
}

fn messages() -> Vec<Layout> {
    vec![
        layout!("struct fi_msg", Msg, [msg_iov, desc, iov_count, addr, context, data]),
        layout!(
            "struct fi_msg_tagged",
            MsgTagged,
            [msg_iov, desc, iov_count, addr, tag, ignore, context, data]
        ),
        layout!("struct fi_cq_tagged_entry", CqTaggedEntry, [op_context, flags, len, buf, data, tag]),
        layout!(
            "struct fi_cq_err_entry",
            CqErrEntry,
            [op_context, flags, len, buf, data, tag, olen, err, prov_errno, err_data, err_data_size,]
        ),
    ]
}

fn objects() -> Vec<Layout> {
    vec![
        layout!("struct fid", Fid, [fclass, context, ops]),
        layout!("struct fid_fabric", FidFabric, [fid, ops, api_version]),
        layout!("struct fid_domain", FidDomain, [fid, ops, mr]),
        layout!("struct fid_mr", FidMr, [fid, mem_desc, key]),
        layout!("struct fid_ep", FidEp, [fid, ops, cm, msg, rma, tagged, atomic, collective]),
        layout!("struct fid_cq", FidCq, [fid, ops]),
        layout!("struct fid_cntr", FidCntr, [fid, ops]),
        layout!("struct fid_eq", FidEq, [fid, ops]),
        layout!("struct fid_av", FidAv, [fid, ops]),
    ]
}

fn tables() -> Vec<Layout> {
    vec![
        layout!("struct fi_ops", Ops, [size, close, bind, control, ops_open, tostr, ops_set]),
        layout!(
            "struct fi_ops_fabric",
            OpsFabric,
            [size, domain, passive_ep, eq_open, wait_open, trywait, domain2]
        ),
        layout!(
            "struct fi_ops_domain",
            OpsDomain,
            [
                size,
                av_open,
                cq_open,
                endpoint,
                scalable_ep,
                cntr_open,
                poll_open,
                stx_ctx,
                srx_ctx,
                query_atomic,
                query_collective,
                endpoint2,
            ]
        ),
        layout!("struct fi_ops_mr", OpsMr, [size, reg, regv, regattr]),
        layout!(
            "struct fi_ops_ep",
            OpsEp,
            [size, cancel, getopt, setopt, tx_ctx, rx_ctx, rx_size_left, tx_size_left]
        ),
        layout!(
            "struct fi_ops_cm",
            OpsCm,
            [size, setname, getname, getpeer, connect, listen, accept, reject, shutdown, join,]
        ),
    ]
}

fn transfer_tables() -> Vec<Layout> {
    vec![
        layout!(
            "struct fi_ops_msg",
            OpsMsg,
            [size, recv, recvv, recvmsg, send, sendv, sendmsg, inject, senddata, injectdata,]
        ),
        layout!(
            "struct fi_ops_tagged",
            OpsTagged,
            [size, recv, recvv, recvmsg, send, sendv, sendmsg, inject, senddata, injectdata,]
        ),
        layout!(
            "struct fi_ops_rma",
            OpsRma,
            [size, read, readv, readmsg, write, writev, writemsg, inject, writedata, injectdata]
        ),
        layout!("struct fi_rma_iov", RmaIov, [addr, len, key]),
        layout!(
            "struct fi_msg_rma",
            MsgRma,
            [msg_iov, desc, iov_count, addr, rma_iov, rma_iov_count, context, data]
        ),
        layout!(
            "struct fi_ops_atomic",
            OpsAtomic,
            [
                size,
                write,
                writev,
                writemsg,
                inject,
                readwrite,
                readwritev,
                readwritemsg,
                compwrite,
                compwritev,
                compwritemsg,
                writevalid,
                readwritevalid,
                compwritevalid,
            ]
        ),
        layout!("struct fi_ioc", Ioc, [addr, count]),
        layout!("struct fi_rma_ioc", RmaIoc, [addr, count, key]),
        layout!("struct fi_atomic_attr", AtomicAttr, [count, size]),
        layout!(
            "struct fi_msg_atomic",
            MsgAtomic,
            [msg_iov, desc, iov_count, addr, rma_iov, rma_iov_count, datatype, op, context, data]
        ),
        layout!("struct fi_ops_collective", OpsNone<11>, [size, calls = "barrier"]),
    ]
}

fn queue_tables() -> Vec<Layout> {
    vec![
        layout!(
            "struct fi_ops_cq",
            OpsCq,
            [size, read, readfrom, readerr, sread, sreadfrom, signal, strerror]
        ),
        layout!("struct fi_ops_cntr", OpsCntr, [size, read, readerr, add, set, wait, adderr, seterr]),
        layout!("struct fi_ops_eq", OpsEq, [size, read, readerr, write, sread, strerror]),
        layout!(
            "struct fi_ops_av",
            OpsAv,
            [size, insert, insertsvc, insertsym, remove, lookup, straddr, av_set]
        ),
    ]
}

#[rustfmt::skip]
fn constants() -> Vec<(&'static str, u64)> {
    constants![
        FI_MSG, FI_RMA, FI_TAGGED, FI_READ, FI_WRITE, FI_RECV, FI_SEND, FI_TRANSMIT, FI_REMOTE_READ,
        FI_REMOTE_WRITE, FI_ATOMIC, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC, FI_MULTI_RECV, FI_REMOTE_CQ_DATA,
        FI_MORE, FI_PEEK, FI_PRIORITY, FI_COMPLETION,
        FI_INJECT, FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE, FI_DELIVERY_COMPLETE, FI_AFFINITY,
        FI_MATCH_COMPLETE, FI_LOCAL_COMM, FI_REMOTE_COMM, FI_SOURCE, FI_DIRECTED_RECV, FI_CLAIM, FI_DISCARD,
        FI_SELECTIVE_COMPLETION, FI_SYNC_ERR, FI_SYMMETRIC, FI_FORMAT_UNSPEC, FI_PROV_SPECIFIC,
        FI_ADDR_UNSPEC, FI_ADDR_NOTAVAIL, FI_AV_UNSPEC, FI_AV_MAP, FI_AV_TABLE, FI_MR_BASIC, FI_MR_SCALABLE,
        FI_PROGRESS_UNSPEC, FI_PROGRESS_MANUAL, FI_THREAD_UNSPEC, FI_THREAD_SAFE, FI_RM_ENABLED,
        FI_ORDER_SAS, FI_EP_UNSPEC, FI_EP_RDM, FI_CLASS_FABRIC, FI_CLASS_DOMAIN, FI_CLASS_EP, FI_CLASS_AV,
        FI_CLASS_MR, FI_CLASS_EQ, FI_CLASS_CQ, FI_CLASS_CNTR, FI_ENABLE, FI_GET_RAW_MR, FI_MAP_RAW_MR,
        FI_UNMAP_KEY, FI_GETWAITOBJ, FI_OPT_ENDPOINT,
        FI_OPT_MIN_MULTI_RECV, FI_OPT_CM_DATA_SIZE, FI_OPT_TX_SIZE, FI_OPT_RX_SIZE, FI_CQ_FORMAT_UNSPEC,
        FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED, FI_WAIT_NONE,
        FI_WAIT_UNSPEC, FI_WAIT_YIELD, FI_EINTR, FI_EAGAIN, FI_ENOMEM, FI_EBUSY, FI_EINVAL, FI_ENODEV,
        FI_ENOSYS, FI_ENOMSG, FI_ENODATA, FI_EMSGSIZE, FI_ENOPROTOOPT, FI_EOPNOTSUPP, FI_ECONNRESET,
        FI_ESHUTDOWN, FI_ETIMEDOUT, FI_ECANCELED, FI_EOTHER, FI_ETOOSMALL, FI_EOPBADSTATE, FI_EAVAIL,
        FI_EBADFLAGS, FI_ENOCQ, FI_ETRUNC, FI_ENOKEY, FI_ENOAV, FI_EACCES, FI_NUMERICHOST, FI_THREAD_DOMAIN,
        FI_THREAD_ENDPOINT, FI_PROGRESS_AUTO, FI_CNTR_EVENTS_COMP, FI_TC_UNSPEC, FI_EADDRNOTAVAIL,
    ]
}

/// Compiles and runs a C program, and returns what it prints.
fn run_c(source: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (file, program) = (folder.path().join("layout.c"), folder.path().join("layout"));
    std::fs::write(&file, source).expect("the source is written");
    let compiled =
        Command::new("cc").arg("-o").args([&program, &file]).status().expect("cc runs: see scripts/setup");
    assert!(compiled.success(), "libfabric's headers are needed: scripts/setup installs them");
    let output = Command::new(program).output().expect("the program runs");
    String::from_utf8(output.stdout).expect("digits")
}

#[test]
fn as_the_compiler_sees_it() {
    let attributes = [endpoint_attributes(), domain_attributes(), infos(), object_attributes(), messages()];
    let tables = [objects(), tables(), transfer_tables(), queue_tables()];
    let layouts: Vec<Layout> = attributes.into_iter().chain(tables).flatten().collect();
    let constants = constants();
    let headers =
        ["fabric", "fi_atomic", "fi_cm", "fi_collective", "fi_domain", "fi_endpoint", "fi_eq", "fi_errno"];
    let headers = headers.into_iter().chain(["fi_rma", "fi_tagged", "providers/fi_prov"]);
    let mut source = String::from("#include <stdio.h>\n");
    headers.for_each(|header| writeln!(source, "#include <rdma/{header}.h>").expect("text"));
    source += "int main(void) {\n";
    let mut ask =
        |what: String| writeln!(source, "printf(\"%llu\\n\", (unsigned long long)({what}));").expect("text");
    ask("FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)".into());
    for Layout { c, fields, .. } in &layouts {
        ask(format!("sizeof({c})"));
        fields.iter().for_each(|(field, _)| ask(format!("offsetof({c}, {field})")));
    }
    constants.iter().for_each(|(name, _)| ask((*name).into()));
    source += "return 0; }\n";

    let output = run_c(&source);
    let mut answers = output.lines().map(|line| line.parse::<u64>().expect("a number"));
    let mut answer = || answers.next().expect("as many answers as questions");
    let version = answer();
    for Layout { c, size, fields } in &layouts {
        let there = answer() as usize;
        // Later versions append fields. The entry of a failed completion has an appended field here, too.
        let same = *size == there || version > fi_version(1, 17).into() && *size < there;
        assert!(same || *c == "struct fi_cq_err_entry", "size of {c}: {size}, in C {there}");
        fields.iter().for_each(|(field, at)| assert_eq!(*at as u64, answer(), "{c}: {field}"));
    }
    constants.iter().for_each(|(name, value)| assert_eq!(*value, answer(), "{name}"));
}
