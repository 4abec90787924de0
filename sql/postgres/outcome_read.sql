-- What became of a transaction: committed, aborted, in progress, or null when it is too long ago.
-- An error: the number is still to come, for the server crashed and forgot it.
select pg_xact_status(:xid::xid8) as status
