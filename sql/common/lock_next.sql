-- When the time of the first lock of an item ends, or ended. One row, null when nothing is locked.
select min(i.locked_until) as until from items i where i.status = 'processing'
