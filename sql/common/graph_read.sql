-- The graph on record, who serves since when, and the epoch. Always one row.
select c.structure, c.checksum, c.serving, c.since, c.epoch from control_plane c
