-- Reserves numbers for tasks and timers. A counter row stands in for the sequence: it answers one row,
-- the first number after those that are reserved now, and takes the count down from there.
update ids set next = next + :count returning next as id
