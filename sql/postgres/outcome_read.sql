-- What became of a transaction: committed, aborted, in progress, or null when it is too long ago; and whether the
-- server only follows another one, then it is not asked.
-- An error: the number is still to come, for the server crashed and forgot it.
select
    case when not pg_is_in_recovery() then pg_xact_status(:xid::xid8) end as status,
    pg_is_in_recovery() as follows
