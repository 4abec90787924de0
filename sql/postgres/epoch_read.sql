-- The epoch, and the number by which this transaction can be asked for later. Always one row.
select c.epoch, pg_current_xact_id()::text as xid from control_plane c
