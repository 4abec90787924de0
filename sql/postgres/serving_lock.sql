-- Who serves, as it is on record, locked until it is written anew. Zero rows: the epoch was raised by another.
select c.serving from control_plane c where c.epoch = :epoch for update
