"""What a label is: how it is read, divided, predicted and scored."""
