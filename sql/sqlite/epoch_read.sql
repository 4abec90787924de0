-- The epoch; on SQLite a transaction has no number to be asked for later. Always one row.
select c.epoch, null as xid from control_plane c
